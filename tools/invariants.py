"""Record what must stay the same while code moves, and compare it later.

    .venv/bin/python tools/invariants.py record build/invariants.json
    ... change code ...
    .venv/bin/python tools/invariants.py compare build/invariants.json [--wording]

It records the digests of models of every kind (trained, taught, replayed), the fields of a model file and the tables
of a journal, the description of the HTTP API, and what each command prints with --json. Times, versions and random ids
are masked. Descriptions and examples in the HTTP API may be reworded: --wording reports them too.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
MASKS = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r'[^"]*/thresher/[\w/]*sample/'), "SAMPLE/"),  # where the package is installed
    (re.compile(r'"(seconds|documents_per_second|rate|\w*_seconds|rss|memory)": ?[\d.e+-]+'), r'"\1": 0'),
]
WORDING = {"description", "summary", "examples"}  # in the description of the HTTP API
COMMANDS = [
    "inspect sample:test",
    "train sample:train -o m.thresher --preset fast",
    "train sample:train -o p.thresher --preset paper --learner perceptron",
    "inspect m.thresher",
    "evaluate m.thresher sample:test",
    "compare m.thresher p.thresher sample:test",
    "predict m.thresher sample:test",
    "predict m.thresher sample:test --top 2",
    "rank m.thresher lighting sample:test",
    "explain m.thresher text.txt",
    "learn m.thresher corrections.jsonl --user ada",
    "undo m.thresher",
    "journal check m.thresher",
    "journal export m.thresher",
    "audit sample:train",
    "compress p.thresher -o small.thresher --size 30kB",
    "convert sample:test converted.csv",
]
CORRECTIONS = [
    {"id": "a", "text": "the lamp in our street is dark", "accept": ["lighting"]},
    {"id": "b", "text": "a new kind of complaint about bees", "accept": ["bees"], "reject": ["lighting"]},
    {"id": "c", "text": "rubbish was not collected", "categories": ["waste"]},
]


def mask(text: str, folder: str) -> str:
    """Return a text without what differs from run to run."""
    text = text.replace(folder, "FOLDER") if folder else text
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text


def compute_digests() -> list[str]:
    """Return the digests of models of every kind: trained, and taught by a journal and replayed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    lines: list[str] = []
    for way in (["here", "2", "0"], ["journal", "2", "40"]):
        command = [sys.executable, str(ROOT / "tests" / "digests.py"), *way]
        lines += subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split("\n")
    return [line for line in lines if line]


def run_commands(folder: Path) -> dict[str, Any]:
    """Return what each command prints with --json, and its exit code."""
    (folder / "corrections.jsonl").write_text("".join(json.dumps(one) + "\n" for one in CORRECTIONS))
    (folder / "text.txt").write_text("the lamp outside my house is dark again")
    results: dict[str, Any] = {}
    for command in COMMANDS:
        arguments = [sys.executable, "-m", "thresher", *command.split(), "--json"]
        ended = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        lines = mask(ended.stdout, str(folder)).split("\n")
        results[command] = {
            "code": ended.returncode,
            "lines": lines,
            "failed": ended.stderr if ended.returncode else "",
        }
    return results


def read_formats(folder: Path) -> dict[str, Any]:
    """Return the fields of a model file, and the tables of a journal."""
    head = (folder / "m.thresher").read_bytes()
    header = json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")])
    database = sqlite3.connect(f"file:{folder / 'm.thresher.journal' / 'journal.sqlite3'}?mode=ro", uri=True)
    tables = [row[0] for row in database.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    database.close()
    return {"model": sorted(header), "journal": tables, "journal_version": version}


def describe_api(model: Path) -> Any:
    """Return the description of the HTTP API without the version of the library."""
    from support.served import served

    with served(model) as running:
        described = running.get("/openapi.json")
    described["info"].pop("version", None)
    return described


def collect_invariants() -> dict[str, Any]:
    """Return all that must not change."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = run_commands(folder)
        return {
            "digests": compute_digests(),
            "commands": commands,
            "formats": read_formats(folder),
            "openapi": describe_api(folder / "p.thresher"),
        }


def drop_wording(described: Any) -> Any:
    """Return a description of the HTTP API without its texts; a parameter or field of such a name stays."""
    if isinstance(described, list):
        return [drop_wording(one) for one in described]
    if not isinstance(described, dict):
        return described
    return {
        name: {field: drop_wording(one) for field, one in value.items()}
        if name == "properties"
        else drop_wording(value)
        for name, value in described.items()
        if name not in WORDING
    }


def find_differences(old: Any, new: Any, place: str = "") -> list[str]:
    """Return where two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        return [one for name in names for one in find_differences(old.get(name), new.get(name), f"{place}/{name}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            one for i, pair in enumerate(zip(old, new, strict=True)) for one in find_differences(*pair, f"{place}/{i}")
        ]
    if isinstance(old, str) and isinstance(new, str):  # the record may be older than a mask
        old, new = mask(old, ""), mask(new, "")
    return [] if old == new else [f"{place}: {str(old)[:200]} -> {str(new)[:200]}"]


def main() -> int:
    """Record or compare; returns 1 if something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--wording", action="store_true", help="report reworded texts of the HTTP API too")
    options = parser.parse_args()
    current = json.loads(json.dumps(collect_invariants()))
    if options.action == "record":
        options.file.parent.mkdir(parents=True, exist_ok=True)
        options.file.write_text(json.dumps(current, indent=1))
        print(f"recorded {len(current['digests'])} digests and {len(current['commands'])} commands in {options.file}")
        return 0
    recorded = json.loads(options.file.read_text())
    if not options.wording:
        recorded, current = ({**one, "openapi": drop_wording(one["openapi"])} for one in (recorded, current))
    changed = find_differences(recorded, current)
    print("\n".join(changed) or "nothing differs")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
