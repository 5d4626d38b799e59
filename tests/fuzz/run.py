"""Fuzzes one target for some time, with atheris, from the inputs that are kept and those found before.

    python tests/fuzz/run.py jsonl --seconds 600

prints the seed, which THRESHER_SEED repeats, and at the end a line of figures. What crashes is kept in a file, and
makes the exit code 1; a line says how to repeat it. `--keep` afterwards renews the kept inputs, as few as reach all
that was reached. Without atheris, `--input FILE` gives one input to the target.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

TESTS = Path(__file__).parents[1]
sys.path[:0] = [] if str(TESTS) in sys.path else [str(TESTS)]

from fuzz.targets import PLACES, Input, Target, inputs, keep_inputs, name_of, target  # noqa: E402

MOST_MEMORY, LONGEST_RUN = 2048, 10  # megabytes of the process, and seconds that one input may take
LONGEST = {"words": 300, "model": 16_384, "journal": 16_384, "packed": 8192, "parquet": 8192}  # bytes of an input
ARTIFACTS = "-artifact_prefix="
LARGEST_CORPUS = 200_000  # bytes of all that is kept of a target


def main() -> int:
    """Fuzz a target, or give it one input."""
    parser = argparse.ArgumentParser(description="Fuzz one target.")
    parser.add_argument("target", choices=PLACES)
    parser.add_argument("--seconds", type=int, default=60, help="how long")
    parser.add_argument("--work", type=Path, default=TESTS.parent / "soak" / "fuzz", help="where new inputs are kept")
    parser.add_argument("--input", type=Path, help="give this input to the target, and do nothing else")
    parser.add_argument("--kept", help="give the kept input of this name to the target, and do nothing else")
    parser.add_argument("--keep", action="store_true", help="make the kept inputs again, with what was found")
    parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside is not None:
        fuzz(asked.target, asked.inside)
    elif asked.input is not None or asked.kept is not None:
        warnings.simplefilter("error")
        by_name = {one.name: one.data for one in inputs(asked.target)}
        target(asked.target)(asked.input.read_bytes() if asked.kept is None else by_name[asked.kept])
    elif find_spec("atheris") is None:
        print("fuzzing needs atheris (pip install -r requirements/soak.txt)")
        return 2
    else:
        return drive(asked.target, asked.seconds, asked.work / asked.target, asked.keep)
    return 0


# -- the process that starts it ----------------------------------------------------------------------------------------


def drive(name: str, seconds: int, work: Path, keep: bool) -> int:
    """Fuzz in a process of its own, which a crash may end, and return the outcome."""
    from faults.harness import new_seed
    from fuzz.dictionaries import dictionary
    from fuzz.seeds import seeds

    found, kept = work / "corpus", unpacked(name, work)
    found.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(name)):
        (found / f"seed-{number:03}").write_bytes(data)
    (work / "words").write_text(dictionary(name))
    seed = new_seed() % 2**31
    before, crashes = set(found.iterdir()), set(work.glob("*-*"))
    options = [f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1"]
    options += [f"-dict={work / 'words'}"] if dictionary(name) else []
    code, said = run(name, [found, kept], [*options, f"{ARTIFACTS}{work}/"], work / "log.txt")
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    took = re.search(r"Done \d+ runs in (\d+) second", said)
    new = len(set(found.iterdir()) - before)
    bad = sorted(set(work.glob("*-*")) - crashes)
    outcome = f"{len(bad) or int(code != 0)} crashes" if bad or code else "no crash"
    figures = f"{int(runs[1]) if runs else 0:,} runs in {took[1] if took else '?'} s, {new} new inputs, {outcome}"
    print(f"figure: fuzzing {name}: {figures}", flush=True)
    if code != 0 or bad:
        print("\n".join(said.splitlines()[-60:]))
        print(f"see {work / 'log.txt'}")
        for path in bad:
            print(f"repeat it with: python tests/fuzz/run.py {name} --input {path}")
        return 1
    if keep:
        make_anew(name, work)
    return 0


def run(name: str, folders: list[Path], options: list[str], log: Path) -> tuple[int, str]:
    """Run libFuzzer with a target in another process; returns its exit code and what it printed."""
    limits = [f"-rss_limit_mb={MOST_MEMORY}", f"-timeout={LONGEST_RUN}", f"-max_len={LONGEST.get(name, 2048)}"]
    again = log.with_name("again")  # libFuzzer merges in processes of its own, and starts them by this name
    again.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} --inside "$0" "$@"\n')
    again.chmod(0o700)
    command = [str(again), *limits, *options, *map(str, folders)]
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder, log.open("wb") as file:
        environment = os.environ | {"TMPDIR": folder, "PYTHONHASHSEED": "0"}
        code = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        ).returncode
    return code, log.read_text(errors="replace")


def make_anew(name: str, work: Path) -> None:
    """Put the fewest inputs in place of those kept that reach as many lines, the smallest first.

    Regressions stay; what fuzzers begin with anyway is not kept twice.
    """
    from fuzz.seeds import seeds

    kept, fewest = unpacked(name, work), work / "fewest"
    shutil.rmtree(fewest, ignore_errors=True)
    fewest.mkdir()
    code, said = run(name, [fewest, kept, work / "corpus"], ["-merge=1", "-use_counters=0"], work / "merge.txt")
    assert code == 0, said[-2000:]
    stay = [one for one in inputs(name) if one.regression]
    known = {*seeds(name), *(one.data for one in stay)}
    size = sum(len(one.data) for one in stay)
    for path in sorted(fewest.iterdir(), key=lambda path: (path.stat().st_size, path.name)):
        data = path.read_bytes()
        if data not in known and size + len(data) <= LARGEST_CORPUS:
            size += len(data)
            stay.append(Input(name_of(data), data))
    keep_inputs(name, stay)
    print(f"kept {len(stay)} of {len(list(fewest.iterdir()))} inputs, {size:,} bytes")


def unpacked(name: str, work: Path) -> Path:
    """Return a folder with the kept inputs as files, as libFuzzer wants them."""
    folder = work / "kept"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for one in inputs(name):
        (folder / one.name).write_bytes(one.data)
    return folder


# -- the process that fuzzes -------------------------------------------------------------------------------------------


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz here until libFuzzer ends the process. The kernels, which are compiled, are not looked into."""
    import atheris

    for module in ("fastapi", "numba", "pyarrow.parquet", "safetensors.numpy", "typer"):
        import_module(module)
    kernels = import_module("thresher.kernels")
    for found in iter_modules(kernels.__path__):
        import_module(f"thresher.kernels.{found.name}")
    with atheris.instrument_imports(include=["thresher", "csv", "support.naive_tokens"], enable_loader_override=False):
        function = target(name)
    warnings.simplefilter("error")
    from fuzz.seeds import seeds

    for data in [*seeds(name), *(one.data for one in inputs(name))]:
        function(data)  # whatever is compiled, or read once, is not to count as a slow input
    mutator = {"custom_mutator": mutated_model} if name == "model" else {}
    prefix = next((given[len(ARTIFACTS) :] for given in arguments if given.startswith(ARTIFACTS)), "")
    atheris.Setup(arguments, kept_if_it_fails(function, prefix), **mutator)
    atheris.Fuzz()


def kept_if_it_fails(function: Target, prefix: str) -> Target:
    """Return the target, which writes down what it fails on: libFuzzer does too, unless its process ends before."""

    def call(data: bytes) -> None:
        try:
            function(data)
        except BaseException:
            Path(f"{prefix}crash-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
            raise

    return call


def mutated_model(data: bytes, most: int, seed: int) -> bytes:
    """Change a model file as libFuzzer does or, as often, its contents together with its digest."""
    import atheris

    from fuzz.mutants import mutated

    draw = random.Random(seed)
    changed = mutated(data, draw) if data and draw.random() < 0.5 else bytes(atheris.Mutate(data, most))
    return changed if len(changed) <= most else data


if __name__ == "__main__":
    sys.exit(main())
