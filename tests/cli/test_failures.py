"""Failures of the command line: one line with reason and place, the right exit code, and no incomplete output."""

import errno
import json
import os
import resource
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Ended, Run, in_shell, interrupted, said, thresher, without_privileges
from thresher.cli.exit_codes import OutputError, TerminatedError, UsageError, exit_code, report
from thresher.errors import DataError, MissingPackageError, ParameterError

TEXT = "loud music all night on Foundry Row"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "desk.thresher"
    assert thresher("train", "sample:train", "-o", path, "--max-passes", "5", "--thresholds", "fixed").code == 0
    return path


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    path = tmp_path / "desk.thresher"
    path.write_bytes(trained.read_bytes())
    return path


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named", "allowed"),
    [
        ("--alpha nan", "--alpha: 'nan'", "not a number"),
        ("--alpha inf", "--alpha: 'inf'", "not a number"),
        ("--alpha -inf", "--alpha: '-inf'", "not a number"),
        ("--learner balanced-winnow --alpha 1e999", "--alpha: inf", "above 1"),
        ("--alpha 1_5", "--alpha: '1_5'", "not a number"),
        ("--learner balanced-winnow --alpha 1", "--alpha: 1.0", "above 1"),
        ("--learner balanced-winnow --alpha 0.5", "--alpha: 0.5", "above 1"),
        ("--learner balanced-winnow --beta 1", "--beta: 1.0", "below 1"),
        ("--learner balanced-winnow --beta 0", "--beta: 0.0", "below 1"),
        ("--theta 0", "--theta: 0.0", "above"),
        ("--seed ٣", "--seed: '٣'", "whole number"),
        ("--seed -1", "--seed: -1", "from 0"),
        ("--seed 1.5", "--seed: '1.5'", "whole number"),
        ("--min-count 0", "--min-count: 0", "from 1"),
        ("--min-count none", "--min-count: 'none'", "whole number"),
        ("--max-passes 0", "--max-passes: 0", "from 1"),
        ("--max-features 0", "--max-features: 0", "from 1"),
        ("--block-width 3", "--block-width: 3", "1, 2, 4"),
        ("--threshold-range 1.1,0.9", "--threshold-range: (1.1, 0.9)", "low <= high"),
        ("--threshold-range 1", "--threshold-range: '1'", "low <= high"),
        ("--threshold-range 1,nan", "--threshold-range: 'nan'", "not a number"),
        ("--discard-range middle", "--discard-range: 'middle'", "initial"),
        ("--learner winnower", "--learner: 'winnower'", "balanced-winnow"),
        ("--preset best-ever", "--preset: 'best-ever'", "paper"),
        ("--strength loud", "--strength: 'loud'", "sqrt"),
        ("--policy first-come", "--policy: 'first-come'", "at-least-one"),
        ("--policy at-most-0", "--policy: 'at-most-0'", "at-most-K"),
        ("--analyser syllables", "--analyser: 'syllables'", "words"),
        ("--thresholds precision:2", "--thresholds: 'precision:2'", "up to 1"),
        ("--late-start soon", "--late-start: 'soon'", "zero"),
        ("--tuning-folds 1", "--tuning-folds: 1", "2 to 100"),
        ("--folds 1", "--folds: 1", "from 2"),
        ("--threads 0", "--threads: 0", "from 1"),
        ("--max-bad -1", "--max-bad: -1", "from 0"),
        ("--longest 0", "--longest: 0", "1 to 2,147,483,647"),
        (f"--longest {10**20}", f"--longest: {10**20}", "1 to 2,147,483,647"),
        ("--format klingon", "--format: 'klingon'", "jsonl"),
        ("--encoding klingon", "--encoding: 'klingon'", "latin-1"),
        ("--decode-errors perhaps", "--decode-errors: 'perhaps'", "replace"),
        ("--delimiter ab", "--delimiter: 'ab'", "one character"),
        ("--seed 1 --seed 2", "--seed", "twice"),
        ("--seed=1 --seed=1", "--seed", "twice"),
        ("--shuffle --no-shuffle", "--shuffle/--no-shuffle", "twice"),
        ("-o other.thresher", "--output/-o", "twice"),
        ("--output other.thresher", "--output/-o", "twice"),
        ("--sed 1", "--sed", "train --help"),
        ("--seed", "--seed", "train --help"),
    ],
)
def test_a_bad_option_is_named_with_what_is_allowed(
    called: Run, tmp_path: Path, options: str, named: str, allowed: str
) -> None:
    output = tmp_path / "new.thresher"
    said(called("train", "sample:train", "-o", output, *options.split()), 2, named, allowed)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["tarin"], "tarin"),
        (["--verbose"], "--verbose"),
        (["train"], "DATA"),
        (["train", "sample:train"], "--output"),
        (["predict"], "MODEL"),
        (["rank", "m", "noise"], "DATA"),
        (["doctor", "desk", "now"], "now"),
        (["predict", "m", "sample:test", "--top", "3", "--all"], "--top and --all"),
        (["predict", "m", "sample:test", "--top", "0"], "--top: 0"),
        (["compress", "m", "--size", "1MB"], "--force"),
        (["fetch", "newsgroups"], "reuters21578"),
        (["train", "sample:nope", "-o", "new"], "sample:train"),
        (["convert", "sample:test", "new.xls"], "new.xls"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said(called(*arguments), 2, part)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "named", "part"),
    [
        ("alpha = 1.1\nspeed = 3\n", "", "'speed' is not a setting"),
        ("[model]\nalpha = 1.1\n", "", "'model' is not a setting"),
        ("theta = 1\nalpha =\n", ":2", "not TOML"),
        ("learner = 'balanced-winnow'\nalpha = '1.1'\n", "", "invalid alpha: '1.1'"),
        ("seed = 1.5\n", "", "invalid seed: 1.5"),
        ("learner = 'balanced-winnow'\nalpha = nan\n", "", "invalid alpha: nan"),
        ("shuffle = 'yes'\n", "", "invalid shuffle: 'yes'"),
        ("threshold_range = [1]\n", "", "invalid threshold_range: (1,)"),
        ("tuning_folds = 1\n", "", "invalid tuning_folds: 1"),
        ("learner = ['perceptron']\n", "", "invalid learner: ('perceptron',)"),
        ("preset = 3\n", "", "invalid preset: 3"),
        ("a = " + "[" * 10_000, "", "not TOML"),
    ],
)
def test_a_bad_file_of_settings_is_named(called: Run, tmp_path: Path, content: str, named: str, part: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(content)
    said(
        called("train", "sample:train", "-o", tmp_path / "new", "--settings", path), 2, f"settings.toml{named}: ", part
    )


def test_an_option_overrides_the_settings_file_and_is_named_in_errors(called: Run, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("learner = 'balanced-winnow'\nalpha = 0.1\n")
    ended = called("train", "sample:train", "-o", tmp_path / "new", "--settings", path, "--alpha", "0.2")
    said(ended, 2, "thresher: invalid --alpha: 0.2", "above 1")


def test_a_missing_settings_file_is_reported(called: Run, tmp_path: Path) -> None:
    said(called("train", "sample:train", "-o", tmp_path / "n", "--settings", tmp_path / "no.toml"), 66, "no.toml: ")


# -- outputs --------------------------------------------------------------------------------------------------------


def test_outputs_are_refused_before_the_work_begins(called: Run, tmp_path: Path) -> None:
    kept = write(tmp_path / "kept.jsonl", {"text": TEXT})
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for output, part in (
        (kept, "--force"), (tmp_path, "is a folder"), (tmp_path / "no" / "a.jsonl", "does not exist"),
        (kept / "a.jsonl", "kept.jsonl"), (loop, "loop"), (tmp_path / ("a" * 300), "too long"),
    ):  # fmt: skip
        for arguments in (
            ["convert", "missing.jsonl", output],
            ["train", "missing.jsonl", "-o", output],
            ["predict", "missing", "missing.jsonl", "-o", output],
            ["learn", "missing", "missing.jsonl", "-o", output],
            ["evaluate", "missing", "missing.jsonl", "--report", output],
            ["compress", "missing", "--size", "1MB", "-o", output],
        ):
            said(called(*arguments), 73, str(output), part)
    assert kept.read_text() == json.dumps({"text": TEXT}) + "\n"
    assert names(tmp_path) == ["kept.jsonl", "loop"]


def test_a_model_is_not_written_to_a_device(called: Run) -> None:
    said(called("train", "sample:train", "-o", "/dev/full"), 73, "/dev/full: not a regular file")


def test_a_full_disk_is_named_and_leaves_nothing(called: Run, tmp_path: Path) -> None:
    said(called("convert", "sample:test", "/dev/full"), 74, "/dev/full: No space left")
    output = tmp_path / "kept.jsonl"
    output.write_text("before\n")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limit[1]))
    try:
        ended = called("convert", "sample:test", output, "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    said(ended, 74, "kept.jsonl: File too large")
    assert output.read_text() == "before\n"
    assert names(tmp_path) == ["kept.jsonl"]


def test_a_full_folder_for_temporary_files_is_named(called: Run, tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limit[1]))
    try:
        ended = called("train", "sample:train", "-o", tmp_path / "new", "--memory", "100kB", "--preset", "fast")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    said(ended, 74, "File too large (name another folder for temporary files with TMPDIR)")
    assert names(tmp_path) == []


def test_an_answer_that_cannot_be_written_is_an_error(model: Path) -> None:
    for arguments in ("predict $model sample:test", "--help", "--version"):
        said(in_shell(f"thresher {arguments} > /dev/full", model=model), 74, "standard output: No space left")


def test_a_reader_that_leaves_early_ends_the_command_quietly(model: Path) -> None:
    for arguments in ("predict $model sample:test", "predict $model sample:test --no-json", "--help"):
        ended = in_shell(f"thresher {arguments} | head -c 5", model=model)
        assert (ended.code, len(ended.out), ended.err) == (0, 5, ""), ended


def test_remarks_that_nobody_reads_do_not_stop_the_work(model: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"text": TEXT}, {"no": 1})
    ended = in_shell("{ thresher predict $model $data --skip-bad | cat >&3; } 3>&1 2> >(true)", model=model, data=data)
    assert ended.code == 0
    assert json.loads(ended.out)["id"] == "1"


def test_a_closed_stream_is_reported_in_one_line(model: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"text": TEXT})
    said(in_shell("thresher predict $model $data >&-", model=model, data=data), 74, "standard output: is closed")
    said(in_shell("thresher predict $model <&-", model=model), 66, "standard input is closed")
    assert in_shell("thresher predict $model $data <&- 2>&-", model=model, data=data).out.startswith('{"id":"1"')
    assert in_shell("thresher predict missing $data 2>&-", data=data) == Ended(66, "", "")
    assert in_shell("thresher predict missing $data 2>/dev/full", data=data) == Ended(66, "", "")


@pytest.mark.parametrize(("source", "name"), [("", "<stdin>"), ("-", "<stdin>"), ("/dev/stdin", "/dev/stdin")])
def test_standard_input_is_read_by_each_of_its_names(model: Path, tmp_path: Path, source: str, name: str) -> None:
    data = write(tmp_path / "a.jsonl", {"text": TEXT}, {"text": 3})
    ended = in_shell(f"cat $data | thresher predict $model {source} --skip-bad", model=model, data=data)
    assert (ended.code, json.loads(ended.out)["id"]) == (0, "1")
    assert f"skipped {name}:2: " in ended.err


def test_missing_permissions_are_reported(model: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(0o555)
    said(without_privileges("convert", "sample:test", closed / "a.csv"), 77, "a.csv: ", "permission")
    said(without_privileges("convert", "sample:test", closed / "no" / "a.csv"), 73, "a.csv: ")
    data = write(tmp_path / "a.jsonl", {"text": TEXT, "accept": ["noise"]})
    elsewhere: list[str | Path] = ["--journal", closed / "journal"]
    said(without_privileges("learn", model, data, *elsewhere), 77, "journal: Permission denied")
    said(without_privileges("serve", model, "--port", "0", *elsewhere), 77, "journal: Permission denied")
    model.chmod(0)
    said(without_privileges("inspect", model), 77, "desk.thresher: Permission denied")
    assert names(closed) == []


# -- inputs ---------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_a_model_is_refused(called: Run, model: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"text": TEXT})
    damaged = tmp_path / "damaged.thresher"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    for verb in ("predict", "learn", "rank", "evaluate", "explain"):
        rest = ["noise", str(data)] if verb == "rank" else [str(data)]
        said(called(verb, tmp_path / "missing", *rest), 66, "missing: ")
        said(called(verb, tmp_path, *rest), 66, f"{tmp_path}: ")
        said(called(verb, damaged, *rest), 65, "damaged.thresher: ")
        said(called(verb, data, *rest), 65, "a.jsonl: ")
    assert damaged.read_bytes() == content


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_folder_is_refused_as_a_model(called: Run, path: str) -> None:
    for verb in (["undo"], ["journal", "check"], ["doctor"], ["compress", "--force", "--size", "1MB"]):
        said(called(*verb, path), 66, "directory")
    for rest in ([path], ["--demo", "--journal", path]):
        said(called("serve", "--port", "0", *rest), 2, "is not a name for the model")


def test_missing_data_is_reported(called: Run, model: Path, tmp_path: Path) -> None:
    for arguments in (["predict", model], ["learn", model], ["train", "-o", tmp_path / "new"]):
        said(called(*arguments, tmp_path / "none.jsonl"), 66, "none.jsonl: No such file")
        said(called(*arguments, ""), 66, "empty name")


def test_an_empty_document_is_reported_and_not_learned(called: Run, model: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"text": "", "categories": ["noise"]}, {"text": TEXT, "categories": ["noise"]})
    before = model.read_bytes()
    first, second = map(json.loads, called("predict", model, data).out.splitlines())
    assert first == {"id": "1", "categories": [], "empty": True}
    assert "empty" not in second
    said(called("learn", model, data), 65, "a.jsonl:1: no features in document")
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    ("correction", "part"),
    [
        ({"accept": ["noise"], "reject": ["noise"]}, "'noise' is both accepted and rejected"),
        ({"reject": ["nonsense"]}, "'nonsense' is unknown and cannot be rejected"),
        ({"accept": [], "reject": []}, "at least one"),
        ({"accept": "noise||roads"}, "'' is not a valid name"),
        ({"accept": [3]}, "must be str, not int"),
        ({"accept": 3}, "'accept' must be a name or a list of names, not int"),
        ({"reject": {"noise": 1}}, "'reject' must be a name or a list of names, not dict"),
        ({"accept": ["no\nise"]}, "is not a valid name"),
        ({}, "neither categories nor"),
        ({"categories": ["\ud800"]}, ":2: "),
    ],
)
def test_a_bad_correction_leaves_the_model_as_it_was(
    called: Run, model: Path, tmp_path: Path, correction: dict[str, Any], part: str
) -> None:
    good = {"text": TEXT, "accept": ["noise"]} if "categories" not in correction else {"text": TEXT, "categories": []}
    data = write(tmp_path / "a.jsonl", good, {"text": TEXT} | correction)
    before = model.read_bytes()
    said(called("learn", model, data), 65, "a.jsonl:2: ", part)
    assert model.read_bytes() == before
    assert names(tmp_path) == ["a.jsonl", "desk.thresher"]


def test_documents_without_labels_are_not_learned_as_negatives(called: Run, model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    plain = tmp_path / "a.txt"
    plain.write_text(TEXT + "\n")
    said(called("learn", model, plain), 65, "a.txt:1: ", "neither categories nor")
    labelled = write(tmp_path / "b.jsonl", {"text": TEXT, "categories": []})
    assert model.read_bytes() == before
    assert called("learn", model, labelled).code == 0


def test_bad_records_are_skipped_and_reported(called: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "a[b].jsonl", *([{"text": TEXT}] + [{"text": number} for number in range(12)]))
    said(called("convert", data, tmp_path / "out.csv"), 65, "a[b].jsonl:2: ")
    said(called("convert", data, tmp_path / "out.csv", "--max-bad", "11"), 65, "a[b].jsonl:13: ", "more than 11")
    assert not (tmp_path / "out.csv").exists()
    for options in (["--skip-bad", "--quiet"], ["--max-bad", "12"]):
        ended = called("convert", data, tmp_path / "out.csv", "--force", *options)
        assert (ended.code, json.loads(ended.out)["documents"]) == (0, 1)
        *skipped, count = ended.err.splitlines()
        assert len(skipped) == 10
        assert all(f"a[b].jsonl:{line}: " in told for line, told in enumerate(skipped, 2))
        assert count.endswith("a[b].jsonl: 12 bad records skipped, 1 documents read")


def test_what_skipped_records_need_is_named_as_an_option(called: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"gold\nsil\xfcber\n")
    ended = called("convert", tmp_path / "a.txt", tmp_path / "b.csv", "--skip-bad")
    assert "(use --encoding latin-1 or --decode-errors replace)" in ended.err


def test_parquet_without_its_package_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('none here')")
    env: dict[str, str | None] = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    said(thresher("inspect", tmp_path / "a.parquet", env=env), 2, "pip install 'thresher-text[parquet]'")
    said(thresher("convert", "sample:test", tmp_path / "b.parquet", env=env), 2, "pip install 'thresher-text[parquet]'")
    assert names(tmp_path) == ["a.parquet", "pyarrow.py"]


# -- the environment ------------------------------------------------------------------------------------------------


def test_commands_work_without_environment_variables(model: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"text": TEXT})
    nothing: dict[str, str | None] = dict.fromkeys(os.environ)
    ended = thresher("predict", model, data, env=nothing)
    assert (ended.code, ended.err) == (0, "")
    ended = thresher("predict", model, data, env={"TMPDIR": "/nonexistent", "HOME": "/nonexistent"})
    assert (ended.code, ended.err) == (0, "")


def test_an_ascii_locale_changes_nothing(called: Run, model: Path, tmp_path: Path) -> None:
    name, text = "Lärm 音", "Straßenlärm über Nacht 音"
    data = tmp_path / "ä.jsonl"
    data.write_text(json.dumps({"text": text, "accept": [name]}, ensure_ascii=False))
    assert called("learn", model, data).code == 0
    env: dict[str, str | None] = {"LANG": "C", "LC_ALL": "POSIX"}
    ended = thresher("explain", model, text, "--category", name, "--no-json", env=env)
    assert ended.code == 0
    assert ended.out.startswith(f"{name}: ")
    assert text in ended.out
    env |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = thresher("predict", model, data, "--top", "15", env=env)
    assert (ended.code, ended.err) == (0, "")
    assert name in [row["category"] for row in json.loads(ended.out)["categories"]]
    said(thresher("predict", model, tmp_path / "ö.jsonl", env=env), 66, "No such file")


def test_a_file_name_that_is_not_utf_8_is_escaped(called: Run, model: Path, tmp_path: Path) -> None:
    data = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    write(data, {"text": TEXT, "categories": ["noise"]})
    assert called("predict", model, data).code == 0
    ended = called("convert", data, f"{data}.csv")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["output"].endswith("\\udcff.jsonl.csv")
    copy = data.with_suffix(".thresher")
    ended = called("learn", model, data, "-o", copy)
    assert ended.code == 0
    assert json.loads(ended.out)["model"].endswith("\\udcff.thresher")
    assert called("evaluate", copy, data, "--no-json").out.startswith("\\udcff.thresher on ")
    said(called("predict", model, f"{data}x"), 66, "\\udcff.jsonlx: No such file")


def test_a_deleted_working_folder_is_reported_in_one_line(
    called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said(called("convert", "sample:test", "a.csv"), 73, "a.csv: No such file")
    said(called("predict", "desk.thresher", "a.jsonl"), 66, "desk.thresher: No such file")
    assert called("--help").code == 0


def test_control_characters_and_markup_are_shown_as_text(called: Run, model: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", {"id": "[/b]", "text": f"\x1b]0;title\x07 \x9b2J [red] {TEXT}\r\n:smile:"})
    ended = called("predict", model, data, "--no-json")
    assert ended.code == 0
    assert not set(ended.out) & {"\x1b", "\x07", "\x9b", "\r"}
    assert "[/b]" in ended.out
    assert "␛]0;title␇ �2J [red] loud" in ended.out
    named = tmp_path / "[bold]\x1b.thresher"
    named.write_bytes(model.read_bytes())
    labelled = write(tmp_path / "b.jsonl", {"text": TEXT, "categories": ["noise"]})
    assert called("evaluate", named, labelled, "--no-json").out.startswith("[bold]␛.thresher on ")
    said(called("predict", tmp_path / "\x1b[1m", data), 66, "\\x1b[1m: No such file")


# -- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signals", "code", "word"),
    [
        ([signal.SIGINT], 130, "interrupted"),
        ([signal.SIGINT] * 3, 130, "interrupted"),
        ([signal.SIGTERM], 143, "terminated"),
        ([signal.SIGHUP], 143, "terminated"),
    ],
)
def test_a_signal_ends_training_soon_and_leaves_the_old_model(
    model: Path, tmp_path: Path, signals: list[signal.Signals], code: int, word: str
) -> None:
    before = model.read_bytes()
    # Labels that contradict each other are never learned, so that training would take hours; there are as many as in
    # the other model, for which everything is compiled already.
    data = write(tmp_path / "a.jsonl", *({"text": TEXT, "categories": [name]} for name in "abcdefghijklmn" * 50))
    options = ["--force", "--max-passes", "10000000", "--tolerance", "0", "--thresholds", "fixed"]
    ended = interrupted(["train", data, "-o", model, *options], b"learn", signals)
    assert ended.code == code
    assert ended.seconds < 2  # a second, on two cores
    assert ended.out == ""
    assert ended.err.rstrip().endswith(f"thresher: {word}")
    assert "Traceback" not in ended.err
    assert model.read_bytes() == before
    assert names(tmp_path) == ["a.jsonl", "desk.thresher"]


# -- exit codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), 2),
        (ParameterError("x"), 2),
        (MissingPackageError("x"), 2),
        (DataError("x"), 65),
        (FileNotFoundError(errno.ENOENT, "x", "f"), 66),
        (IsADirectoryError(errno.EISDIR, "x", "f"), 66),
        (ZeroDivisionError("x"), 70),
        (AssertionError(), 70),
        (MemoryError(), 71),
        (SystemError("error return without exception set"), 71),  # Python, without memory for a frame
        (SystemError("something else"), 70),
        (OutputError("x"), 73),
        (OSError(errno.ENOMEM, "x", "f"), 71),
        (OSError(errno.ENOSPC, "x", "f"), 74),
        (OSError(errno.EIO, "x"), 74),
        (OSError("of the network"), 74),
        (PermissionError(errno.EACCES, "x", "f"), 77),
        (OSError(errno.EROFS, "x", "f"), 77),
        (KeyboardInterrupt(), 130),
        (TerminatedError(), 143),
    ],
)
def test_every_kind_of_error_has_its_exit_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(error) == code
    report(error, debug=False)
    said(Ended(code, *capsys.readouterr()), code)


def test_a_bug_is_reported_in_one_line_and_a_traceback_on_request(
    called: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("thresher.datasets.reader.look", broken)
    said(called("inspect", "sample:test"), 70, "ZeroDivisionError: two lines; this is a bug", "--debug")
    ended = called("inspect", "sample:test", "--debug")
    assert ended.code == 70
    assert ended.err.startswith("Traceback")
    assert ended.err.splitlines()[-1].startswith("thresher: ZeroDivisionError")


def test_lack_of_memory_is_reported_in_one_line(called: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("thresher.datasets.reader.look", greedy)
    said(called("inspect", "sample:test"), 71, "out of memory")


def test_outputs_have_the_usual_permissions(called: Run, tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        assert called("convert", "sample:test", tmp_path / "a.csv").code == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o640
