"""The command starts quickly. CPU time is measured, which other processes affect least; three times the aim passes."""

import json
import subprocess
import sys
from pathlib import Path

from support.command_line import cpu_seconds, thresher

SLACK = 3
HELP, PREDICT = 0.4, 1.2  # seconds
HEAVY = ("numba", "numpy", "sklearn", "scipy", "pyarrow", "matplotlib", "orjson", "safetensors")


def test_help_is_quick() -> None:
    assert cpu_seconds("--help") < SLACK * HELP


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from thresher.cli import run; run(['train', '--help']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=300)
    assert ended.stderr.decode() == "[]\n"


def test_one_document_is_predicted_quickly_once_the_kernels_are_compiled(tmp_path: Path) -> None:
    model, data = tmp_path / "desk.thresher", tmp_path / "a.jsonl"
    data.write_text(json.dumps({"text": "loud music all night on Foundry Row"}))
    assert thresher("train", "sample:train", "-o", model, "--max-passes", "5", "--thresholds", "fixed").code == 0
    cpu_seconds("predict", model, data)
    assert cpu_seconds("predict", model, data) < SLACK * PREDICT
