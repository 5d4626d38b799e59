"""The paper's tables: their runs in a small form, the pages made of them, and the verb that shows them."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.corpora import made_up
from thresher.cli import run
from thresher.datasets.corpora.reuters21578 import find_collection, load
from thresher.datasets.document import Document
from thresher_reproduction import table1, table2
from thresher_reproduction.pages import render_html, render_markdown
from thresher_reproduction.problem import compute_break_even, drop_rare_features, make_problem
from thresher_reproduction.sections import Section, make_sections
from thresher_reproduction.systems import SYSTEMS


@pytest.fixture(scope="module")
def reuters() -> list[Document]:
    if find_collection() is None:
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    return load()


def test_features_seen_too_seldom_in_training_are_left_out_of_both_parts() -> None:
    train = [Document("oil oil gas"), Document("oil wheat")]
    problem = make_problem(train, [Document("wheat oil")], "words", min_count=1)
    rows, others = drop_rare_features(problem.rows, problem.test_rows, 2)
    assert rows.n_features == others.n_features == 1
    assert rows.data.tolist() == [2.0, 1.0]
    assert others.data.tolist() == [1.0]


def test_test_categories_without_a_training_document_are_left_out() -> None:
    problem = make_problem([Document("oil", ("crude",))], [Document("tin", ("tin",))], "words", min_count=1)
    assert problem.categories == ["crude"]
    assert not problem.truth.any()


@pytest.mark.parametrize("system", SYSTEMS, ids=[system.name for system in SYSTEMS])
def test_every_system_of_the_table_learns_a_separable_collection(system: Any) -> None:
    corpus = made_up(240)
    documents = [Document(text, tuple(names)) for text, names in zip(*corpus, strict=True)]
    problem = make_problem(documents[:180], documents[180:], system.analyser, min_count=2)
    learner = system.make()
    learner.fit(problem.rows, problem.labels, n_categories=len(problem.categories))
    found = compute_break_even(learner.score(problem.test_rows), problem.truth)
    assert found.pooled > 0.6


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"rows": [row | {"seconds": 0.0} for row in found["rows"]]}


def test_table_1_tests_every_effect_on_both_choices_and_measures(
    reuters: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table1, "ANALYSER", "words")  # lemmas take longer, and change nothing that is looked at here
    monkeypatch.setattr(table1, "QUICK_DRAWS", 1)
    found = table1.run(reuters, quick=True)
    assert without_times(found) == without_times(table1.run(reuters, quick=True))
    keys = {"system", "split", "version", "pooled_break_even", "published", "seconds", "features_kept"}
    assert keys <= found["rows"][0].keys()
    assert len(found["rows"]) == 2 * 16
    assert len(found["effects"]) == 2 * 2 * len(table1.EFFECTS)
    assert all(0.3 < row["pooled_break_even"] < 1 for row in found["rows"])
    assert {one["verdict"] for one in found["effects"]} == {"no difference"}  # one draw shows nothing


def test_table_2_has_a_row_for_every_split_and_chosen_system(
    reuters: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table2, "SYSTEMS", SYSTEMS[:1])
    found = table2.run(reuters, quick=True)
    splits = [(row["split"], row["documents"]) for row in found["rows"]]
    assert splits == [("modapte", "all"), ("modapte", "labelled"), ("modlewis", "all")]
    assert found["rows"][0]["published"] == 0.833
    assert found["rows"][0]["pooled_break_even"] > 0.84
    assert found["rows"][1]["pooled_break_even"] > 0.845
    assert all(row["features_kept"] < row["size"] for row in found["rows"])


def example_results() -> list[dict[str, Any]]:
    row = {"micro_break_even": 0.8, "macro_break_even": 0.5, "published_later": "", "seconds": 1.0, "size": 10}
    row |= {"features_kept": 5, "version": "words", "split": "modapte", "documents": "all"}
    systems = [("BalancedWinnow+", 0.842, 0.833), ("Rocchio", 0.85, None)]
    rows = [row | {"system": name, "pooled_break_even": ours, "published": paper} for name, ours, paper in systems]
    claim: dict[str, Any] = {
        "name": "noise",
        "section": "3.1",
        "claim": "It bears <noise>.",
        "verdict": "partly",
        "because": "1 | 2.",
    }
    claim |= {"tests": {"it does": True}, "rows": [{"rate": 0.1, "learner": "Perceptron"}], "plot_svg": "<svg></svg>"}
    return [{"table": "table2", "rows": rows}, {"table": "claims", "rows": [claim]}]


def test_a_page_says_which_systems_stand_above_balanced_winnow() -> None:
    sections = make_sections(example_results()[0])
    said = (
        "Above BalancedWinnow+ by pooled break-even (84.2) stand, of the paper's rivals: Rocchio 85.0; of others: none."
    )
    assert said in sections[0].text
    assert sections[0].rows[0][2] == "84.2"
    assert sections[0].rows[1][5] == "–"


def test_pages_hold_every_section_and_escape_what_they_show() -> None:
    sections = [section for result in example_results() for section in make_sections(result)]
    markdown, page = (made("Title", ["Lead `code`."], sections) for made in (render_markdown, render_html))
    for section in sections:
        assert f"## {section.title}" in markdown
        assert f">{section.title}<" in page
    assert "1 \\| 2." in markdown
    assert "It bears &lt;noise&gt;." in page
    assert "<svg></svg>" in page
    assert "<code>code</code>" in page


def test_a_section_without_rows_has_no_table() -> None:
    assert "<table>" not in render_html("Title", [], [Section("Empty", ["Nothing."], [], [])])


def test_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "table3"]) == 2
    assert "allowed: table1, table2, claims, all" in capsys.readouterr().err


def test_the_verb_writes_tables_and_pages(
    reuters: list[Document], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(table2, "SYSTEMS", SYSTEMS[:1])
    pages = [str(tmp_path / "page.html"), str(tmp_path / "page.md")]
    assert run(["reproduce", "table2", "--quick", "--quiet", "--report", pages[0], "--markdown", pages[1]]) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert found["table"] == "table2"
    assert {"system", "split", "version", "pooled_break_even", "published", "seconds"} <= found["rows"][0].keys()
    assert "Table 2, modapte" in Path(pages[0]).read_text()
    assert "with thresher" in Path(pages[1]).read_text()
