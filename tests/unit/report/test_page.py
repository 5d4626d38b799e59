"""The report: one page, complete, the same bytes each time, and deaf to whatever texts and names hold."""

import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.corpora import Corpus, made_up, reuters
from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import MissingPackageError, ParameterError
from thresher.evaluation import Evaluation, cross_validate, evaluate, prequential
from thresher.model.explanations import Word
from thresher.report import make_report, write_report
from thresher.report.highlights import MAX_EXCERPT, make_excerpt

pytest.importorskip("matplotlib", reason="needs the extra report: pip install 'thresher-text[report]'")
pytest.importorskip("jinja2", reason="needs the extra report: pip install 'thresher-text[report]'")

SECTIONS = ("summary", "curve", "categories", "learning", "scores", "words", "errors", "settings")
VOID = {"meta", "input", "br", "link", "img", "hr"}
FORBIDDEN = """new Promise(done => {
  addEventListener("securitypolicyviolation", event => done(event.effectiveDirective));
  document.body.append(Object.assign(new Image(), {src: "http://localhost/pixel.png"}));
})"""
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{ 7*7 }}$x^2$\x00\x1b\ud800"


def as_documents(corpus: Corpus) -> list[Document]:
    return [Document(text, tuple(names), str(i)) for i, (text, names) in enumerate(zip(*corpus, strict=True))]


def learned(corpus: Corpus, **settings: Any) -> Categorizer:
    return Categorizer(min_count=1, **settings).fit(corpus.texts, corpus.categories)


def report_of(corpus: Corpus, tested: Corpus | None = None, **settings: Any) -> str:
    model, documents = learned(corpus, **settings), as_documents(tested or corpus)
    return make_report(model, documents, evaluate(model, documents))


class Page(HTMLParser):
    """A page as its elements: which were opened and closed, the ids, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data

    def attributes(self, name: str) -> Iterator[str]:
        return (value for _, found in self.tags if (value := found.get(name)) is not None)

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.tags)


@pytest.fixture(scope="module")
def page() -> str:
    corpus = made_up(400)
    return report_of(corpus.part(0, 250), corpus.part(250))


def test_page_is_well_formed_and_has_every_section(page: str) -> None:
    found = Page(page)
    ids = list(found.attributes("id"))
    assert set(SECTIONS) <= set(ids)
    assert len(ids) == len(set(ids))
    for reference in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"|aria-labelledby="([^"]+)"', page):
        assert "".join(reference) in ids


def test_page_shows_the_figures_of_the_evaluation(page: str) -> None:
    corpus = made_up(400)
    model, documents = learned(corpus.part(0, 250)), as_documents(corpus.part(250))
    summary = evaluate(model, documents).summary()
    text = Page(page).text
    for rate in (summary["pooled_break_even"], summary["micro"]["f1"], summary["macro"]["recall"]):
        assert f"{100 * rate:.1f}" in text
    for row in summary["per_category"]:
        assert re.search(rf"{row['category']}\s*{row['positives']}\s*{row['accepted']}", text.replace(",", ""))
    assert model.digest() in text


def test_same_input_gives_the_same_bytes(page: str) -> None:
    corpus = made_up(400)
    assert report_of(corpus.part(0, 250), corpus.part(250)) == page


def test_page_makes_no_network_requests(page: str) -> None:
    assert not [address for address in re.findall(r"https?://[^\s\"'<]+", page) if "www.w3.org" not in address]
    found = Page(page)
    policies = [tag["content"] or "" for _, tag in found.tags if tag.get("http-equiv") == "Content-Security-Policy"]
    assert [policy.partition(";")[0] for policy in policies] == ["default-src 'none'"]
    assert not {"link", "img", "iframe", "object", "embed"} & {tag for tag, _ in found.tags}
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on") or name == "src"]


def test_hostile_texts_and_names_stay_text() -> None:
    corpus = made_up(120, single=True)
    names = [[f"{HOSTILE}{name}" if name < "grain" else name for name in row] for row in corpus.categories]
    texts = [f"{HOSTILE} <script>alert(3)</script> {text}".replace("\ud800", "") for text in corpus.texts]
    model = Categorizer(min_count=1).fit(texts, [[clean(name) for name in row] for row in names])
    documents = [Document(text, ("grain", "<b>unknown"), HOSTILE) for text in texts]
    found = make_report(model, documents, evaluate(model, documents), title=HOSTILE)
    parsed = Page(found)
    assert parsed.count("script") == 1
    assert parsed.count("img") == parsed.count("b") == 0
    assert "alert(1)" in parsed.text
    assert "{{ 7*7 }}" in parsed.text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", found)
    assert found.encode()


def clean(name: str) -> str:
    """Return a name as `fit` takes it."""
    return re.sub("[\x00-\x1f\ud800]", "", name)


def test_script_is_the_one_that_the_policy_allows(page: str) -> None:
    from base64 import b64encode
    from hashlib import sha256

    script = re.search("<script>(.*?)</script>", page, re.S)
    policy = re.search("'sha256-([^']+)'", page.replace("&#39;", "'"))
    assert script
    assert policy
    assert b64encode(sha256(script[1].encode()).digest()).decode() == policy[1]


# -- degenerate input --------------------------------------------------------------------------------------------------


def test_one_category_without_errors_makes_a_page() -> None:
    corpus = Corpus(["oil rose", "oil fell", "rain", "sun"] * 3, [["energy"], ["energy"], [], []] * 3)
    text = Page(report_of(corpus)).text
    assert "No document was accepted wrongly." in text
    assert "No document was missed." in text


def test_documents_without_positives_make_a_page() -> None:
    corpus = made_up(60)
    text = Page(report_of(corpus, Corpus(["the market", "", "oil"], [[], [], []]))).text
    assert "there is nothing to rank" in text
    assert "–" in text


def test_documents_of_unknown_categories_are_named() -> None:
    corpus = made_up(60)
    text = Page(report_of(corpus, Corpus(["oil", "gas"], [["new"], ["energy", "new"]]))).text
    assert re.search(r"unknown to the model.*new\s+\(2\)", text)


def test_empty_texts_that_were_missed_are_shown_as_empty() -> None:
    text = Page(report_of(made_up(60), Corpus([""], [["energy"]]))).text
    assert "The document has no text." in text


def test_names_of_two_hundred_characters_make_a_page() -> None:
    corpus = made_up(60)
    long = Corpus(corpus.texts, [[name * 30 for name in row] for row in corpus.categories])
    found = Page(report_of(long))
    assert "metals" * 30 in set(found.attributes("title"))


def test_a_model_without_a_record_of_its_passes_makes_a_page() -> None:
    corpus = made_up(60)
    model = Categorizer(min_count=1).partial_fit(corpus.texts, corpus.categories)
    documents = as_documents(corpus)
    assert "no record of its passes" in Page(make_report(model, documents, evaluate(model, documents))).text


def test_prequential_evaluation_adds_its_plots() -> None:
    corpus = made_up(120)
    documents, model = as_documents(corpus), learned(corpus)
    found = prequential(Categorizer(min_count=1), documents, window=50)
    plain = make_report(model, documents, evaluate(model, documents))
    more = make_report(model, documents, evaluate(model, documents), prequential=found)
    assert Page(more).count("svg") == Page(plain).count("svg") + 2
    assert "Micro F1 over the last 50" in more


def test_cross_validation_says_that_other_models_scored() -> None:
    corpus = made_up(120)
    settings: dict[str, Any] = {"policy": "above", "learner": "perceptron"}
    documents, model = as_documents(corpus), learned(corpus, **settings)
    text = Page(make_report(model, documents, cross_validate(documents, folds=3, min_count=1, **settings))).text
    assert "Cross-validated" in text
    assert "The score is of another model" in text


def test_documents_other_than_those_evaluated_are_refused() -> None:
    corpus = made_up(60)
    model, documents = learned(corpus), as_documents(corpus)
    with pytest.raises(ParameterError, match="59 documents, and the evaluation is of 60"):
        make_report(model, documents[1:], evaluate(model, documents))


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = made_up(60)
    model, documents = learned(corpus), as_documents(corpus)
    found = evaluate(model, documents)
    for name in ("thresher.report.sections", "thresher.report.plots", "thresher.report.svg"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.delattr(name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'thresher-text\[report\]'"):
        make_report(model, documents, found)


# -- the threshold range -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("thresholds", "said"), [("fixed", False), ("f1", True)])
def test_pooled_range_is_drawn_only_where_thresholds_are_equal(thresholds: str, said: bool) -> None:
    found = report_of(made_up(400), thresholds=thresholds)
    pooled = found[found.index('id="pooled-') : found.index('id="scores0-')]
    assert ("var(--band)" in pooled) is not said
    assert "It is shown by category only" in found if said else "It is shown" not in found


def test_scores_at_the_threshold_count_as_rejected() -> None:
    from thresher.report.plots import count_bins

    found = count_bins(
        np.array([0.0, 1.0, np.nextafter(1, 2), 2.0, 50.0]), np.array([False, True, True, True, True]), 10
    )
    middle = int(np.flatnonzero(found.edges == 1)[0])
    assert found.positives[:middle].sum() == 1
    assert found.positives[middle:].sum() == 3


# -- highlighted words -------------------------------------------------------------------------------------------------


def test_overlapping_features_add_up_where_they_overlap() -> None:
    words = [Word("crude oil", 1.0, 1, 1, [(0, 9)], 0), Word("oil", -2.0, 1, -2, [(6, 9)], 1)]
    found = make_excerpt("crude oil rose", words)
    assert [(piece.text, piece.shade) for piece in found] == [("crude ", 3), ("oil", -3), (" rose", 0)]
    assert found[1].title == "crude oil +1.00, oil −2.00"


def test_long_texts_are_cut_around_the_strongest_words() -> None:
    text = "start " + "filler words " * 500 + "oil " + "more filler " * 500
    place = text.index("oil")
    found = make_excerpt(text, [Word("oil", 1.0, 1, 1, [(place, place + 3)], 0)])
    assert "oil" in [piece.text for piece in found]
    assert sum(len(piece.text) for piece in found) < 2 * MAX_EXCERPT
    assert found[0].text.startswith("start")
    assert found[-1].text.endswith("…")


def test_pieces_of_a_short_text_are_the_whole_text() -> None:
    model = learned(made_up(60), analyser="words+ngrams:2+title")
    text = {"title": "Crude oil\n", "body": "wheat — and “gold”, gold\x85 und Öl", "note": "gold"}
    plain = "\n".join(text.values())
    found = make_excerpt(plain, model.explain(text, "metals").words)
    assert "".join(piece.text for piece in found) == plain
    assert {"gold"} <= {piece.text for piece in found if piece.shade > 0}


def test_fields_are_shown_below_each_other() -> None:
    corpus = made_up(60)
    model = learned(corpus)
    documents = [Document("", ("ships",), "1", {"title": "gold mine", "body": "silver ounce bullion"})]
    found = Page(make_report(model, documents, evaluate(model, documents))).text
    assert re.search(r"gold\s+mine\s+silver\s+ounce\s+bullion", found)


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_page_of_reuters_stays_below_two_megabytes() -> None:
    corpus = reuters(3000)
    assert len(report_of(corpus.part(0, 2000), corpus.part(2000)).encode()) < 2_000_000


@pytest.fixture
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


def many_categories() -> tuple[Categorizer, list[Document], Evaluation]:
    """Return a model of thirty categories, and what it says about its own documents."""
    corpus = made_up(240, single=True)
    categories = [[f"{name} {i % 5}" for name in row] for i, row in enumerate(corpus.categories)]
    documents = as_documents(Corpus(corpus.texts, categories))
    model = learned(Corpus(corpus.texts, categories), thresholds="fixed")
    return model, documents, evaluate(model, documents)


def test_page_works_in_a_browser_without_a_network(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, *many_categories())
    view = browser.new_page(viewport={"width": 390, "height": 800})
    complaints: list[str] = []
    requests: list[str] = []
    view.on("console", lambda message: complaints.append(message.text))
    view.on("pageerror", lambda error: complaints.append(str(error)))
    view.on("request", lambda request: requests.append(request.url))
    view.goto(path.as_uri())
    boxes = view.eval_on_selector_all(
        "svg", "all => all.map(one => one.getBoundingClientRect()).map(b => b.width * b.height)"
    )
    assert len(boxes) >= 12
    assert min(boxes) > 0
    assert view.evaluate("document.documentElement.scrollWidth") == 390
    _check_sorting(view)
    _check_filter(view)
    assert complaints == []
    assert requests == [path.as_uri()]
    assert view.evaluate(FORBIDDEN) == "img-src"


def _column(view: Any, number: int) -> list[str]:
    return view.eval_on_selector_all(  # type: ignore[no-any-return]
        f"#table tbody tr > :nth-child({number})", "all => all.map(one => one.dataset.value)"
    )


def _check_sorting(view: Any) -> None:
    names = _column(view, 1)
    recall = view.locator("#table thead th").nth(4)
    recall.get_by_role("button").click()
    falling = [float(value) for value in _column(view, 5) if value]
    assert falling == sorted(falling, reverse=True)
    assert recall.get_attribute("aria-sort") == "descending"
    recall.get_by_role("button").press("Enter")
    rising = [float(value) for value in _column(view, 5) if value]
    assert rising == sorted(rising)
    assert view.locator("#table th[aria-sort]").count() == 1
    view.locator("#table thead th").nth(0).get_by_role("button").click()
    assert _column(view, 1) == sorted(names)


def _check_filter(view: Any) -> None:
    view.get_by_label("Filter").fill("GRAIN")
    assert view.locator("#table tbody tr:visible").count() == 5
    assert view.locator("#filtered").inner_text() == "5 of 30"
