"""The disk cache of compiled kernels: they are used again, or compiled again if their file is damaged or stale."""

import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from numba import config

from support import console_blocks as walk
from support.paths import TESTS
from support.tiers import number_of
from support.toy_kernels import module_in, was_loaded
from thresher.kernels.cache import CheckedFiles

ANNOUNCED, COLD_STARTS = "compiling for this machine", number_of("THRESHER_COLD_STARTS", 1)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("toy.*.nbc"))


def cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def flipped(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def half_zeros(content: bytes, draw: random.Random) -> bytes:
    return content[: len(content) // 2] + bytes(len(content) - len(content) // 2)


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "empty": lambda content, draw: b"",
    "cut": cut,
    "flipped": flipped,
    "half of zeros": half_zeros,
    "another file's end": lambda content, draw: content[:-100] + bytes(100),
}


def test_compiled_code_is_used_again(tmp_path: Path) -> None:
    assert not was_loaded(tmp_path)
    assert was_loaded(tmp_path)
    assert module_in(tmp_path).tenfold(0.5) == 5.0  # of another type, beside the first
    assert was_loaded(tmp_path)


def test_code_with_and_without_bounds_checks_has_separate_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not was_loaded(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(config, "BOUNDSCHECK", 1)
        assert not was_loaded(tmp_path)
        assert was_loaded(tmp_path)
    assert was_loaded(tmp_path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_again(tmp_path: Path, damage: str) -> None:
    was_loaded(tmp_path)
    draw = random.Random(damage)
    for _ in range(3):
        for path in files(tmp_path):
            path.write_bytes(DAMAGES[damage](path.read_bytes(), draw))
        assert not was_loaded(tmp_path)
        assert was_loaded(tmp_path), "and kept whole"


def test_a_full_or_missing_folder_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_in(tmp_path)
    (tmp_path / "__pycache__").rename(tmp_path / "elsewhere")
    (tmp_path / "__pycache__").write_text("not a folder")
    assert module.tenfold(4) == 40
    (tmp_path / "__pycache__").unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CheckedFiles, "_save_data", full)
    assert not was_loaded(tmp_path)
    assert not was_loaded(tmp_path)
    assert files(tmp_path) == []


def test_kernels_work_without_a_writable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert not was_loaded(tmp_path)
    assert files(tmp_path) == []


# One process imports what is needed and forks: each child compiles, looks for and keeps the same code as the others.
_AT_ONCE = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.toy_kernels import module_in
read, write = os.pipe()
children = []
for number in range(int(sys.argv[3])):
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)  # until all are there
        module = module_in(Path(sys.argv[2]))
        right = module.tenfold(4) == 40 and module.tenfold(0.5) == 5.0
        os._exit(0 if right else 1)
    children.append(pid)
os.close(write)
sys.exit(any(os.waitpid(pid, 0)[1] for pid in children))
"""


def test_twenty_processes_may_compile_at_once(tmp_path: Path) -> None:
    module_in(tmp_path)
    command = [sys.executable, "-c", _AT_ONCE, str(TESTS), str(tmp_path), "20"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert was_loaded(tmp_path)


def test_processes_without_a_cache_train_the_same_model_and_announce_compilation(tmp_path: Path) -> None:
    def train(name: str) -> str:
        command = f"thresher train sample:train -o {name}.thresher --preset fast --choose nothing 2>&1"
        code, told = walk.run(f"NUMBA_CACHE_DIR={tmp_path / 'kernels'} {command}", tmp_path)
        assert code == 0, told
        return " ".join(told)

    with ThreadPoolExecutor(COLD_STARTS) as pool:
        for told in pool.map(train, [f"cold{number}" for number in range(COLD_STARTS)]):
            assert ANNOUNCED in told
    assert ANNOUNCED not in train("warm")
    models = list(tmp_path.glob("*.thresher"))
    assert len(models) == COLD_STARTS + 1
    assert len({path.read_bytes() for path in models}) == 1
