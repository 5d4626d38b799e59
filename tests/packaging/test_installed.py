"""The wheel in a fresh environment: with its base dependencies, with an extra, and as in the image.

To install and to compile takes most of a minute, so this is one test with many parts. THRESHER_EXTRAS=all installs
each extra by itself into an environment of its own, which takes minutes (`make release-check`).
"""

import os
import re
import shlex
import signal
import subprocess
import tomllib

import httpx
import pytest

import thresher
from support.installed import Environment, install, instruction, listed, new_environment
from support.paths import ROOT
from support.sandbox import command_of, contained, free_port, health, running, sealed

# What each extra is for, as a person would use it.
USES = {
    "sklearn": """python -c '
from sklearn.pipeline import make_pipeline
from thresher.sklearn import BalancedWinnowClassifier, TextVectorizer
model = make_pipeline(TextVectorizer(min_count=1), BalancedWinnowClassifier())
model.fit(["wheat and corn", "corn crop", "oil prices", "crude oil"], ["grain", "grain", "crude", "crude"])
assert model.predict(["the corn crop", "oil"]).tolist() == ["grain", "crude"]'""",
    "serve": """XDG_DATA_HOME=$PWD thresher serve --demo --port 0 --json > said & service=$!
until [ -s said ]; do kill -0 $service; sleep 0.1; done
python -c '
import json, urllib.request
url = json.load(open("said"))["url"]
assert urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url + "/readyz").status == 200'
kill $service; wait $service""",
    "parquet": """thresher convert sample:test found.parquet
thresher inspect found.parquet | grep '"documents":186'""",
    "zstd": """python -c '
from pathlib import Path
from thresher.datasets.compression import import_zstd
Path("few.jsonl.zst").write_bytes(import_zstd().compress(b"{\\"id\\": \\"one\\", \\"text\\": \\"a lamp\\"}\\n"))'
thresher convert few.jsonl.zst few.csv && grep one few.csv""",
    "lemmas": "thresher train sample:train -o lemmas.thresher --preset paper --analyser nouns-and-verbs",
    "report": """thresher train sample:train -o few.thresher --preset paper
thresher evaluate few.thresher sample:test --report page.html && grep -q '<svg' page.html""",
    "cluster": """thresher train sample:train -o here.thresher --preset paper
thresher train sample:train -o there.thresher --preset paper --cluster local
for model in here there; do thresher inspect $model.thresher --words 0 | grep -o '"digest":"[^"]*"' > $model; done
diff here there""",
}
USES["all"] = "\n".join(USES.values())
# Commands that need an extra, and say so without it.
NEEDING = {
    "serve": "serve desk.thresher",
    "report": "evaluate desk.thresher sample:test --report page.html",
    "parquet": "convert sample:test found.parquet",
    "zstd": "inspect documents.jsonl.zst",
    "lemmas": "train sample:train -o other.thresher --analyser nouns-and-verbs",
    "cluster": "train sample:train -o other.thresher --cluster local",
}
RUN_EACH = """
import sys
from thresher.cli import run
for line in sys.stdin.read().splitlines():
    print("$", line, file=sys.stderr)
    print("exit code", run(line.split()), file=sys.stderr)
"""
IMPORT_ALL = """
import importlib, pkgutil, thresher
for module in pkgutil.walk_packages(thresher.__path__, "thresher."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, error)
"""


def test_every_extra_for_users_has_a_use() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(USES) == set(extras) - {"test", "dev", "docs", "soak", "bench", "release"}


def test_the_wheel_works_where_nothing_else_is_installed(subtests: pytest.Subtests) -> None:
    environment = new_environment()
    for part in (learns_and_explains, has_one_version, imports_its_modules, names_the_extra_that_is_missing):
        with subtests.test(part.__name__):
            part(environment)
    install(environment, "serve")
    with subtests.test("an extra", extra="serve"):
        does_what_it_is_for(environment, "serve")
    for run in (serves_as_the_image_would, says_that_there_is_no_model, works_where_nothing_can_be_kept):
        with subtests.test(run.__name__), sealed(environment):
            run(environment)
    if os.environ.get("THRESHER_EXTRAS") == "all":
        for extra in USES:
            with subtests.test("an extra by itself", extra=extra):
                does_what_it_is_for(new_environment(extra), extra)


# -- with the base dependencies alone ----------------------------------------------------------------------------------


def learns_and_explains(base: Environment) -> None:
    """The Dockerfile's own commands compile the kernels; here they are the first things that a user does."""
    ended = base.run(base.place(instruction("RUN", 0)))
    assert ended.code == 0, ended
    assert '"category":"lighting"' in ended.out
    assert '"word":"lamp"' in ended.out
    assert len((base.root / "warm" / "predicted.jsonl").read_text().splitlines()) == 186
    inspected = base.run("thresher inspect desk.thresher --words 1 --no-json")
    assert inspected.code == 0, inspected
    assert "14 categories" in inspected.out


def has_one_version(base: Environment) -> None:
    told = base.run("thresher --version; python -c 'import thresher; print(thresher.__version__)'")
    assert told.out == f"thresher {thresher.__version__}\n{thresher.__version__}\n"


def imports_its_modules(base: Environment) -> None:
    """Every module is imported but those that an extra is for."""
    ended = base.run("python -", given=IMPORT_ALL)
    assert (ended.code, ended.err) == (0, ""), ended
    failed = dict(line.split(" ", 1) for line in ended.out.splitlines())
    homes = ("thresher.web.", "thresher.report.", "thresher.sklearn", "thresher.cluster.")
    assert [name for name in failed if not name.startswith(homes)] == []
    assert "pip install 'thresher-text[sklearn]'" in failed["thresher.sklearn"]
    assert "pip install 'thresher-text[cluster]'" in failed["thresher.cluster.clients"]


def names_the_extra_that_is_missing(base: Environment) -> None:
    """What needs an extra says so in one line, with the exit code of a missing package."""
    (base.root / "warm" / "documents.jsonl.zst").write_bytes(bytes.fromhex("28b52ffd"))  # how zstd's files begin
    ended = base.run(f"python -c {shlex.quote(RUN_EACH)}", given="\n".join(NEEDING.values()))
    assert ended.code == 0, ended
    told = re.findall(r"^\$ .*\n((?:.*\n)*?)exit code (\d+)$", ended.err, re.MULTILINE)
    for extra, (said, code) in zip(NEEDING, told, strict=True):
        assert code == "2", (extra, said)
        assert re.fullmatch(rf"thresher: .*\(pip install 'thresher-text\[{extra}\]'\)\n", said), said
    ended = base.run("thresher reproduce table1 --quick || echo $?")
    assert ended.out == "2\n"
    assert ended.err == "thresher: reproduce is a package of its own (pip install thresher-reproduction)\n"


def does_what_it_is_for(environment: Environment, extra: str) -> None:
    ended = environment.run(USES[extra])
    assert ended.code == 0, ended


# -- as the image would -----------------------------------------------------------------------------------------------


def serves_as_the_image_would(image: Environment) -> None:
    """On a read-only disk and without a home, the service is healthy, learns, is backed up, and ends on a signal."""
    model = str(image.root / "data" / "desk.thresher")
    trained = contained(image, "train", "sample:train", "-o", model, "--quiet")
    assert trained.code == 0, trained
    port = free_port()
    assert health(image, port) != 0
    with running(image, "--port", str(port)) as (process, told):
        assert health(image, port) == 0
        bearer = {"Authorization": f"Bearer {told['token']}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=bearer, trust_env=False, timeout=60) as client:
            text = "The lamp outside my house is dark again"
            found = client.post("/v1/categorize", json={"text": text, "explain": True}).json()
            assert [entry["category"] for entry in found["categories"]] == ["lighting"]
            taught = client.post("/v1/corrections", json={"id": "a", "text": text, "accept": ["parks"]})
            assert taught.status_code == 201, taught.text
            digest = client.get("/v1/model").json()["digest"]
        backed_up = contained(image, "journal", "backup", model, str(image.root / "data" / "monday"))
        assert backed_up.code == 0, backed_up
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")  # nor was anything compiled, which would be reported
    assert thresher.Categorizer.load(model).digest() == digest
    written = sorted(path.name for path in (image.root / "data").iterdir())
    assert written == ["desk.thresher", "desk.thresher.journal", "monday"]


def says_that_there_is_no_model(image: Environment) -> None:
    ended = contained(image, *(image.place(word) for word in listed("CMD")), "--port", "0")
    assert ended.code == 66, ended
    assert "desk.thresher" in ended.err
    assert ended.err.count("\n") == 1
    assert list((image.root / "data").iterdir()) == []


def works_where_nothing_can_be_kept(image: Environment) -> None:
    """Kernels are then compiled in each process."""
    code = "from thresher.kernels.csr import find_faulty_row as kernel; print(kernel._cache.cache_path)"
    variables = image.variables(1) | {"NUMBA_CACHE_DIR": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    entry = command_of(image)
    command = [*entry[: entry.index("/bin/sh")], "python", "-c", code]
    ended = subprocess.run(command, env=variables, cwd="/", capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "None\n"), ended
