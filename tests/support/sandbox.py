"""Runs commands in an environment as the image would: a user without a name or a home, no rights, a read-only disk.

As root, and where the system lets root, the whole disk is mounted read-only but for /data and /tmp; elsewhere the
environment's files are made read-only.
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from support.command_line import Ended
from support.installed import USER, Environment, instruction, listed

# In mounts of its own: shows Python to others where it lies in a folder of root's alone ($2 beneath $3), leaves /data
# and /tmp to write to, and goes on as the image's user ($1) without rights. $0 is the folder of the environment.
_SEALED = """
set -e
if [ -n "$3" ]; then
  mount --bind "$2" "$0/python" && mount -t tmpfs -o mode=755 tmpfs "$3"
  mkdir -p "$2" && mount --bind "$0/python" "$2"
fi
mount --bind "$0/data" "$0/data" && mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmpfs "$0/tmp"
mount -o remount,bind,ro /
exec setpriv --reuid=$1 --regid=$1 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs -- "${@:4}"
"""


# Permissions bind root too who cannot pass over them.
_BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search", "--")


def private_folder(path: Path) -> str:
    """Return the first folder on the way to a path that its owner alone may enter, or nothing."""
    way = [*reversed(path.parents), path]
    return next((str(folder) for folder in way if not folder.stat().st_mode & stat.S_IXOTH), "")


@cache
def can_seal() -> bool:
    """Return whether this process may have mounts of its own."""
    needed = ("unshare", "setpriv", "mount")
    return (
        os.geteuid() == 0
        and all(map(shutil.which, needed))
        and not subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode
    )


def command_of(environment: Environment, *arguments: str) -> list[str]:
    """Return what a container of the image would start, with arguments in the place of CMD."""
    entry = [environment.place(word) for word in listed("ENTRYPOINT")]
    if not can_seal():
        return [*(_BOUND if os.geteuid() == 0 else ()), *entry, *arguments]
    python = [sys.base_prefix, private_folder(Path(sys.base_prefix))]
    return ["unshare", "--mount", "bash", "-c", _SEALED, str(environment.root), USER, *python, *entry, *arguments]


@contextmanager
def sealed(environment: Environment) -> Iterator[Environment]:
    """Give an environment whose files nobody may change, with an empty folder /data of the image's user."""
    data, program = environment.root / "data", environment.bin.parent
    shutil.rmtree(data)
    data.mkdir(mode=0o700)
    if can_seal():
        os.chown(data, int(USER), int(USER))
        yield environment
        return
    subprocess.run(["chmod", "-R", "a-w", program], check=True)
    try:
        yield environment
    finally:
        subprocess.run(["chmod", "-R", "u+w", program], check=True)


def contained(environment: Environment, *arguments: str) -> Ended:
    """Run the image with other arguments to its end."""
    ended = subprocess.run(
        command_of(environment, *arguments), env=environment.variables(1), cwd="/", capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@contextmanager
def running(environment: Environment, *more: str) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    """Start the image with what its CMD says, and more; gives the process and what it said first."""
    arguments = [environment.place(word) for word in listed("CMD")]
    with subprocess.Popen(
        command_of(environment, *arguments, *more), env=environment.variables(1), cwd="/", text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate(timeout=20)
            yield process, json.loads(line)
        finally:
            process.kill()


def health(environment: Environment, port: int) -> int:
    """Return the exit code of the image's health check."""
    words = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
    command = [word.replace("8765", str(port)) for word in words]
    variables = environment.variables(1) | {"http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(command, env=variables, stderr=subprocess.DEVNULL, timeout=20).returncode


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
