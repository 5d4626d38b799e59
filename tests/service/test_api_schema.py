"""Whatever is sent to it, the service keeps to its own description: schemathesis asks for all that it describes."""

import os
import re
import subprocess
import sys
from pathlib import Path

from faults.harness import TOKEN, Service, client_of, started_service, tell
from faults.ledger import begin_model, replayed_digest
from support.paths import TESTS
from support.tiers import number_of
from thresher.journal.journaled_model import JournaledModel

EXAMPLES, SEED = number_of("THRESHER_EXAMPLES", 200, quick=15), number_of("THRESHER_SEED", 1)


def asked(service: Service, folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """Have schemathesis ask a service; what it remembers is in a folder."""
    code = "from schemathesis.cli import schemathesis; schemathesis()"
    options = {
        "--checks": "all",
        "--phases": "examples,coverage,fuzzing,stateful",
        "--max-examples": str(EXAMPLES),
        "--seed": str(SEED),
        "--max-response-time": "2",
        "--generation-database": "none",
        "--header": f"Authorization: Bearer {TOKEN}",
    }
    return subprocess.run(
        [
            *(sys.executable, "-c", code, "--config-file", str(TESTS / "support/api_schema.toml"), "--no-color", "run"),
            *(f"http://127.0.0.1:{service.port}/openapi.json", "--continue-on-failure", *more),
            *(part for option in options.items() for part in option),
        ],
        cwd=folder, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True, text=True, timeout=120 + 3 * EXAMPLES,
    )  # fmt: skip


def failures_in(printed: str) -> str:
    """Return what schemathesis says of its failures, and how it ended; without the middle of long lines."""
    lines = (line if len(line) < 2000 else f"{line[:1000]} [...] {line[-200:]}" for line in printed.splitlines())
    found = "\n".join(lines)
    return found[found.find("= FAILURES =") :][:6000] + found[-3000:]


def warm_up(folder: Path) -> None:
    """Have all compiled that a service may need, which takes longer than an answer may.

    How many categories are looked at side by side is compiled in, so there are first more of them, and then fewer.
    """
    with JournaledModel(begin_model(folder), new=True) as desk:
        desk.correct("some", "crude oil", accept=["energy"], reject=["grain"])
        desk.correct("all", "crude oil and wheat", categories=["grain"])
        for number in range(20):
            desk.change_categories(f"new {number}", "new", [f"c{number}"])
            desk.correct(f"taught {number}", f"crude oil {number}", accept=[f"c{number}"])
        desk.change_categories("merged", "merge", ["energy", "grain"], into="grain")
        for name in list(desk.model.categories):
            desk.correct(f"of {name}", "crude wheat", categories=[name])
            desk.model.view().categorize(["crude oil"], top=3)
            desk.model.explain("crude oil", name)
            desk.change_categories(f"retired {name}", "retire", [name])
        desk.change_categories("anew", "new", ["anew"])
        desk.correct("last", "crude oil", accept=["anew"])


def test_the_service_keeps_to_its_description(tmp_path: Path) -> None:
    """No answer but those described, none with 5xx or after 2 s, all that fits taken and all that does not refused."""
    model = begin_model(tmp_path / "model")
    warm_up(tmp_path / "warm")
    with started_service(model) as service:
        ended = asked(service, tmp_path)
        assert ended.returncode == 0, failures_in(ended.stdout) + ended.stderr[-2000:]
        phases = re.findall(r"✅ +(Examples|Coverage|Fuzzing|Stateful) \(in", ended.stdout)
        assert phases == ["Examples", "Coverage", "Fuzzing", "Stateful"]
        with client_of(service) as client:
            about = client.ask("GET", "/v1/model").body
        assert about["position"] > EXAMPLES / 8  # much of what was sent has been learned
        assert service.stop() == 0
        assert service.running.said() == ""
    assert replayed_digest(model) == about["digest"]
    (cases,) = re.findall(r"([\d,]+) generated", ended.stdout)
    tell(f"{cases} cases, {EXAMPLES:,} examples for each route, {about['position']:,} kept, no failure")
