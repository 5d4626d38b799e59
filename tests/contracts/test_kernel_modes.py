"""The kernels give the same bits interpreted as compiled, and never reach outside their arrays."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import thresher
from faults.harness import tell
from support.paths import TESTS

KERNEL_TESTS = [
    "contracts/test_naive_twin.py",
    "unit/learners/test_update_rules.py",
    "unit/text/test_tokens.py",
    "unit/text/test_vocabulary.py",
]
RIVAL_TESTS = [
    "reproduction/test_widrow_hoff.py",
    "reproduction/test_exponentiated_gradient.py",
    "reproduction/test_sleeping_experts.py",
    "reproduction/test_rule_search.py",
]

CALLERS = [
    "unit/audit/test_findings.py",
    "unit/test_categorizer.py",
    "unit/test_categorizer_refusals.py",
    "unit/model/test_category_edits.py",
    "unit/model/test_selection.py",
    "unit/model_file/test_compress.py",
    "unit/model_file/test_packing.py",
    "unit/model/test_decisions.py",
    "unit/journal/test_journaled_model.py",
    "unit/journal/test_recovery.py",
    "unit/journal/test_journaled_model_refusals.py",
    "unit/evaluation/test_evaluation.py",
    "unit/model/test_explanations.py",
    "golden/test_golden.py",
    "contracts/test_online_conduct.py",
    "unit/learners/test_parameters.py",
    "unit/model/test_reservoir.py",
    "unit/rows/test_validation.py",
    "unit/sklearn/test_estimators.py",
    "unit/journal/test_snapshots.py",
    "unit/rows/test_spilled.py",
    "unit/model/test_streaming.py",
    "unit/support/test_parallel.py",
    "contracts/test_views.py",
]


def run_tests(names: list[str], **environment: str) -> str:
    """Run test files in a process of their own with another setting of Numba's; return what they print."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", *(str(TESTS / name) for name in names)]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_kernels_agree_with_the_naive_twin_uncompiled() -> None:
    assert " passed" in run_tests([*KERNEL_TESTS, *RIVAL_TESTS], NUMBA_DISABLE_JIT="1")


def test_kernels_stay_within_their_arrays() -> None:
    """Bounds are checked in the tests of kernels, learners and text; THRESHER_BOUNDS=whole: of all that calls them."""
    names = [
        *KERNEL_TESTS,
        *RIVAL_TESTS,
        "unit/learners/test_learners.py",
        "unit/learners/test_sparse_weights.py",
        "unit/text/test_analysers.py",
    ]
    names += CALLERS if os.environ.get("THRESHER_BOUNDS") == "whole" else []
    passed = re.search(r"(\d+) passed", run_tests(names, NUMBA_BOUNDSCHECK="1"))
    assert passed
    tell(f"{passed[1]} tests with checked bounds")


SHOW_BITS = """
from hashlib import sha256
from support.problems import LEARNERS, random_problem
problem = random_problem(4, n_rows=60, n_features=30, n_categories=20)
for name, learner in LEARNERS.items():
    usual = ({}, {"average": True, "shuffle": True}, {"normalize": True, "threshold_range": None})
    for settings in (*usual, {"sparse": True, "max_passes": 3}):
        fitted = learner(**settings).fit(problem.rows, problem.labels)
        bits = fitted.weights_.tobytes() + fitted.score(problem.rows).tobytes()
        print(name, sha256(bits).hexdigest())
"""


def test_every_kind_of_processor_and_number_of_threads_gives_the_same_bits() -> None:
    def digests(**environment: str) -> str:
        settings = os.environ | {"PYTHONPATH": str(TESTS)} | environment
        run = subprocess.run(
            [sys.executable, "-c", SHOW_BITS], env=settings, capture_output=True, text=True, check=True
        )
        return run.stdout

    here = digests()
    assert len(set(here.split())) == 4 + 16  # names of learners, and a digest for each of four settings
    assert digests(NUMBA_DISABLE_JIT="1") == here
    assert digests(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == here


def test_a_changed_kernel_makes_all_cached_kernels_stale(tmp_path: Path) -> None:
    shutil.copytree(Path(thresher.__file__).parent, tmp_path / "thresher", ignore=shutil.ignore_patterns("__pycache__"))
    script = """
from thresher import Perceptron, Rows
learner = Perceptron(alpha=1.0, average_active=2.0, threshold_range=None, discard=False, max_passes=1)
print(learner.fit(Rows([0, 1], [0], [1], 1), [[0]]).weights_, learner.filtering_range(2.0))
"""

    def weights() -> str:
        settings = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(
            [sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=True
        ).stdout

    before = weights()
    assert weights() == before == "[[1.5]] (np.float32(-0.5), np.float32(1.5))\n"
    source = tmp_path / "thresher" / "kernels" / "dense_weights.py"
    text = source.read_text()
    assert "weight[feature, lane] + step)" in text
    source.write_text(text.replace("weight[feature, lane] + step)", "weight[feature, lane] + step + step)"))
    assert weights() == weights() == "[[2.5]] (np.float32(-1.5), np.float32(2.5))\n"
