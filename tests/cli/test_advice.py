"""The command line gives advice on small mistakes, and remarks on odd data."""

from pathlib import Path

import pytest

from support.command_line import Run, said

LINES = [("oil rose", "energy"), ("gas fell", "energy"), ("wheat rose", "grain"), ("corn fell", "grain")] * 5


def written(path: Path, delimiter: str = ",", header: str = "text,label", lines: list[tuple[str, str]] = LINES) -> Path:
    rows = [header.replace(",", delimiter), *(f"{text}{delimiter}{label}" for text, label in lines)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_advised_delimiter_can_be_copied(called: Run, tmp_path: Path) -> None:
    data = written(tmp_path / "tabs.csv", "\t")
    said(called("inspect", data), 65, r"use --delimiter '\t'?")
    assert called("inspect", data, "--delimiter", r"\t").code == 0


@pytest.mark.parametrize(
    ("content", "option"),
    [
        (b"text;label\noil;energy\n", "--delimiter ';'"),
        (b"text,label\n\xe4l,energy\n", "--encoding latin-1"),
        (b"text\noil\n", "--categories"),
        (b"text,label\noil,energy\nwheat,grain\n", "--min-count"),
    ],
)
def test_serve_points_to_train_for_options_that_it_lacks(
    called: Run, tmp_path: Path, content: bytes, option: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    said(called("serve", tmp_path / "a.csv", "--port", "0"), 65, option, "that is for thresher train")
    written(tmp_path / "b.csv", header="words,label")
    assert "thresher train" not in said(called("serve", tmp_path / "b.csv", "--port", "0"), 65, "name it with --text")


def test_a_text_in_place_of_a_file_gets_advice(called: Run, tmp_path: Path) -> None:
    data = written(tmp_path / "a.csv")
    assert called("train", data, "-o", tmp_path / "m.thresher", "--min-count", "1").code == 0
    said(
        called("predict", tmp_path / "m.thresher", "oil rose again"), 66, "oil rose again", "a text itself is piped in"
    )
    said(called("explain", tmp_path / "m.thresher", " "), 2, 'thresher explain MODEL "a text"')
    said(called("predict", data, tmp_path / "m.thresher"), 65, "this is text, not a model", "MODEL comes before DATA")


def test_odd_labels_get_a_remark(called: Run, tmp_path: Path) -> None:
    def remarks(lines: list[tuple[str, str]], *more: str) -> str:
        data = written(tmp_path / "a.csv", lines=lines)
        ended = called("train", data, "-o", tmp_path / "m.thresher", "--force", "--no-json", *more)
        assert ended.code == 0
        return ended.out + ended.err

    assert "nothing to distinguish" in remarks([("oil rose", "energy"), ("gas rose", "energy")] * 5)
    assert "1 category, " in remarks([("oil rose", "energy"), ("gas rose", "energy")] * 5)
    joined = [*LINES, ("oil and corn", '"energy, grain"')]
    assert "--separator ', ' separates them" in remarks(joined)
    assert "separates them" not in remarks(joined, "--separator", ", ")
    assert "keeps them all" in remarks(LINES)
    assert "keeps them all" not in remarks(LINES, "--min-count", "1")


def test_evaluating_on_documents_without_labels_gets_a_remark(called: Run, tmp_path: Path) -> None:
    written(tmp_path / "a.csv")
    written(tmp_path / "none.csv", lines=[("oil rose", ""), ("wheat rose", "")])
    assert called("train", tmp_path / "a.csv", "-o", tmp_path / "m.thresher", "--min-count", "1").code == 0
    assert (
        "none of the documents has a category" in called("evaluate", tmp_path / "m.thresher", tmp_path / "none.csv").err
    )


@pytest.mark.parametrize("verb", ["train", "serve", "predict"])
def test_a_flag_has_no_value_in_the_help(called: Run, verb: str) -> None:
    assert "bool" not in called(verb, "--help").out


def test_a_number_of_bytes_is_a_size(called: Run, tmp_path: Path) -> None:
    written(tmp_path / "a.csv")
    assert called("train", tmp_path / "a.csv", "-o", tmp_path / "m.thresher", "--min-count", "1").code == 0
    assert called("compress", tmp_path / "m.thresher", "-o", tmp_path / "s.thresher", "--size", "6000").code == 0
