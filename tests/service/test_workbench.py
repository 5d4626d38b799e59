"""The page in a real browser, over the real service: every story of categorizing, reviewing, correcting and undoing."""

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from support.served import SHARED, TOKENS, Served, served
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.web.serializers import MAX_EXPLAINED_LETTERS

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = sync_api.expect
LAMP = "The lamp outside my house is dark again, and the cockerel next door crows at four every morning"
HOSTILE = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "javascript:alert(3)", "\u202eevil\u202c",
    "__proto__", "constructor", '"onmouseover="alert(4)', "{{7*7}}", "a/b/../c",
]  # fmt: skip
FORBIDDEN = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style=|new Function")
PAGE = ROOT / "src" / "thresher" / "web" / "page"


@pytest.fixture(scope="module")
def model() -> bytes:
    """The model of the demo, as its file's bytes."""
    import tempfile

    documents = list(read_documents("sample:train"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "desk.thresher")
        fitted = Categorizer(preset="fast").fit([d.content for d in documents], [d.categories for d in documents])
        fitted.save(path)
        return path.read_bytes()


@pytest.fixture(scope="module")
def others() -> list[Document]:
    return list(read_documents("sample:test"))


@pytest.fixture
def desk(model: bytes, others: list[Document], tmp_path: Path) -> Iterator[Served]:
    path = tmp_path / "desk.thresher"
    path.write_bytes(model)
    with served(path, holdout=others[1::2]) as running:
        documents = [{"id": document.id, "text": document.text} for document in others[:40:2]]
        running.post("/v1/documents", {"documents": documents})
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


class Page:
    """A page of the workbench, and whatever it complained of."""

    def __init__(self, browser: Any, desk: Served, token: str = SHARED, **how: Any) -> None:
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 860}} | how))
        self.context.set_default_timeout(10_000)
        self.view, self.url, self.complaints = self.context.new_page(), desk.url, list[str]()
        self.requests: list[str] = []
        self.view.on("dialog", self._dialog)
        self.view.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.view.on("request", lambda request: self.requests.append(request.url))
        self.view.goto(f"{desk.url}/#token={token}")
        expect(self.view.locator("#views a").first).to_be_visible()

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def go(self, view: str, wait: str) -> None:
        self.view.goto(f"{self.url}/#{view}")
        expect(self.view.locator(wait).first).to_be_visible()

    def __getitem__(self, selector: str) -> Any:
        return self.view.locator(selector)

    def key(self, *keys: str) -> None:
        for key in keys:
            self.view.keyboard.press(key)

    def says(self, selector: str, text: str | re.Pattern[str]) -> None:
        expect(self[selector]).to_contain_text(text)


@pytest.fixture
def page(browser: Any, desk: Served) -> Iterator[Page]:
    found = Page(browser, desk)
    yield found
    assert found.complaints == []
    assert all(url.startswith((desk.url, "data:", "blob:")) for url in found.requests)
    found.context.close()


def drop(page: Page, name: str, content: str, kind: str = "text/plain") -> None:
    """Drop a file onto the page."""
    made = """([name, content, kind]) => { const given = new DataTransfer();
        given.items.add(new File([content], name, {type: kind})); return given; }"""
    data = page.view.evaluate_handle(made, [name, content, kind])
    for event in ("dragenter", "dragover", "drop"):
        page["#main"].dispatch_event(event, {"dataTransfer": data})


def scores(page: Page) -> dict[str, float]:
    rows = page.view.eval_on_selector_all(".rank", "all => all.map(one => [one.dataset.category, one.textContent])")
    return {name: float(re.findall(r"-?\d+\.\d+|−\d+\.\d+", text)[0].replace("−", "-")) for name, text in rows}


# -- signing in --------------------------------------------------------------------------------------------------------


def test_the_token_leaves_the_address_and_outlives_a_reload(page: Page) -> None:
    assert SHARED not in page.view.url
    page.view.reload()
    expect(page["#views a[aria-current]"]).to_be_visible()


def test_a_wrong_token_is_asked_for_again(browser: Any, desk: Served) -> None:
    view = browser.new_page()
    view.goto(f"{desk.url}/#token=not-the-token")
    expect(view.get_by_text("not accepted")).to_be_visible()
    view.goto("about:blank")
    view.goto(desk.url)
    view.locator("#token").fill("not-the-token")
    view.get_by_role("button", name="Sign in").click()
    expect(view.get_by_text("not accepted")).to_be_visible()
    view.locator("#token").fill(SHARED)
    view.get_by_role("button", name="Sign in").click()
    expect(view.locator("#views a").first).to_be_visible()
    view.close()


def test_a_reader_looks_and_cannot_correct(browser: Any, desk: Served) -> None:
    reader = Page(browser, desk, TOKENS["rita"])
    reader["#text"].fill(LAMP)
    expect(reader[".rank"].first).to_be_visible()
    for button in ("#accept", "#reject"):
        expect(reader[button]).to_be_hidden()
    reader.go("categories", "tr[data-category]")
    expect(reader["#new-category"]).to_be_hidden()
    reader.context.close()


# -- categorize --------------------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_a_text_is_ranked_and_its_words_light_up(page: Page, desk: Served) -> None:
    page.go("categorize", "#text")
    page["#text"].fill(LAMP)
    expect(page[".rank.accepted"].first).to_be_visible()
    told = desk.categorize(text=LAMP, top=8)["categories"]
    assert scores(page) == {one["category"]: pytest.approx(one["score"], abs=0.006) for one in told}
    page['.rank[data-category="lighting"]'].click()
    expect(page["#lit mark.for"].filter(has_text="lamp").first).to_be_visible()
    page.says("#words", "lamp")
    first = page["#lit"].text_content()
    page.key("ArrowDown")
    expect(page['.rank[data-category="lighting"]']).to_have_attribute("aria-selected", "false")
    assert page["#lit"].text_content() == first == LAMP


@pytest.mark.quick
def test_one_key_corrects_and_another_undoes(page: Page, desk: Served) -> None:
    before = desk.digest
    page.go("categorize", "#text")
    page["#text"].fill(LAMP)
    expect(page['.rank[data-category="noise"]']).to_be_visible()
    page.key("Escape")
    page['.rank[data-category="noise"]'].click()
    was = scores(page)["noise"]
    page.key("a")
    page.says("#changed", re.compile(r"\d+ words promoted for .*noise"))
    expect(page['.rank[data-category="noise"]']).not_to_contain_text(f"{was:.2f}")
    assert scores(page)["noise"] > was
    page.key("u")
    page.says("#changed", re.compile("back"))
    expect(page['.rank[data-category="noise"]']).to_contain_text(f"{was:.2f}")
    assert desk.digest == before
    page.key("r")
    page.says("#changed", re.compile(r"\d+ words demoted for .*noise"))
    expect(page['.rank[data-category="noise"]']).not_to_contain_text(f"{was:.2f}")
    assert scores(page)["noise"] < was


def test_a_file_dropped_is_categorized(page: Page) -> None:
    page.go("categorize", "#text")
    drop(page, "letter.txt", LAMP)
    expect(page["#text"]).to_have_value(LAMP)
    expect(page[".rank.accepted"].first).to_be_visible()


def test_a_text_that_is_too_long_to_explain_is_categorized_anyway(page: Page, desk: Served) -> None:
    text = LAMP.ljust(MAX_EXPLAINED_LETTERS + 1)
    page.go("categorize", "#text")
    page["#text"].fill(text)
    page.says("#status", "too long to explain")
    told = desk.categorize(text=text, top=8)["categories"]
    assert scores(page) == {one["category"]: pytest.approx(one["score"], abs=0.006) for one in told}
    page['.rank[data-category="noise"]'].click()
    expect(page["#actions"]).to_contain_text("noise")
    page.says("#status", "too long to explain")
    expect(page["#lit"]).to_be_hidden()
    page["#accept"].click()
    page.says("#changed", "noise")
    expect(page['.rank[data-category="noise"]']).to_have_attribute("aria-selected", "true")
    page["#text"].fill(LAMP)
    expect(page["#lit mark"].first).to_be_visible()
    expect(page["#status"]).to_be_empty()


def test_a_document_that_is_too_long_to_explain_is_reviewed_anyway(page: Page, desk: Served) -> None:
    desk.post("/v1/documents", {"documents": [{"id": "long", "text": LAMP.ljust(MAX_EXPLAINED_LETTERS + 1)}]})
    page.go("review", ".toggle")
    page["#search"].fill("the cockerel next door")
    expect(page["#document-heading"]).to_have_text("Document long")
    page.says("#stage", "too long to explain")
    expect(page["#stage .fault"]).to_have_count(0)


def test_a_category_is_added_with_one_key_and_confirmed(page: Page, desk: Served) -> None:
    page.go("categorize", "#text")
    page["#text"].fill("A swarm of bees has settled in the elm by the gate")
    expect(page[".rank"].first).to_be_visible()
    page.key("Escape")
    page.key("n")
    page["#category-name"].fill("bees")
    page.key("Enter")
    page.says("#category-note", re.compile("bees|new", re.IGNORECASE))
    page.key("Enter")
    page.says("#changed", "bees")
    assert "bees" in [one["name"] for one in desk.get("/v1/categories")["categories"]]


# -- review ------------------------------------------------------------------------------------------------------------


def test_the_queue_is_worked_off_with_the_keyboard(page: Page, desk: Served) -> None:
    page.go("review", ".toggle")
    first = page["#document-heading"].text_content()
    page.key("j")
    expect(page["#document-heading"]).not_to_have_text(first)
    page.key("k")
    expect(page["#document-heading"]).to_have_text(first)
    page.key("1", "Enter")
    page.says("#progress", "1 of 20")
    expect(page["#document-heading"]).not_to_have_text(first)
    page.key("s")
    page.key("?")
    expect(page["#document-heading"]).not_to_have_text(first)
    page.key("u")
    page.says("#progress", "0 of 20")
    counts = desk.get("/v1/queue")
    assert (counts["unsure"], counts["done"], counts["total"]) == (1, 0, 20)


def test_the_queue_may_be_searched_and_ordered(page: Page, desk: Served) -> None:
    page.go("review", ".toggle")
    text = desk.get("/v1/queue", limit=3)["documents"][2]["text"]
    page["#search"].fill(text[:40])
    expect(page["#lit"]).to_have_text(text)
    page["#search"].fill("no such text anywhere")
    expect(page["#stage .empty"]).to_be_visible()
    page["#search"].fill("")
    for order in ("diverse", "random", "uncertain"):
        page["#order"].select_option(order)
        expected = desk.get("/v1/queue", order=order, limit=1)["documents"][0]["text"]
        expect(page["#lit"]).to_have_text(expected)
    page["#by-category"].select_option("noise")
    expected = desk.get("/v1/queue", category="noise", limit=1)["documents"][0]["text"]
    expect(page["#lit"]).to_have_text(expected)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("texts.txt", "the first text of a file\nthe second text of a file\n"),
        ("texts.csv", 'id,text\na,"the first, text"\nb,"the ""second"" text"\n'),
        ("texts.jsonl", '{"id": "x", "text": "the first of them"}\n{"text": "the second of them"}\n'),
    ],
)
def test_a_file_dropped_becomes_the_queue(page: Page, desk: Served, name: str, content: str) -> None:
    page.go("review", ".toggle")
    drop(page, name, content)
    page.says("#notice", "Added 2 documents")
    found = desk.get("/v1/queue", q="first", limit=5)["documents"]
    assert any("first" in one["text"] for one in found)
    assert desk.get("/v1/queue")["total"] == 22


def test_teachers_who_disagree_are_named(page: Page, desk: Served) -> None:
    id = desk.get("/v1/queue")["documents"][0]["id"]
    desk.correct(document=id, accept=["noise"], by="ada")
    desk.correct(document=id, reject=["noise"], by="bob")
    page.go("review", ".toggle")
    page["#state"].select_option("done")
    page.says("#disagreement", "noise")
    page.says("#disagreement", "ada")
    page.says("#disagreement", "bob")


def test_enter_saves_nothing_before_something_is_ticked(browser: Any, tmp_path: Path, others: list[Document]) -> None:
    """In a cold start an idle Enter would teach that a document is none of the categories."""
    path = tmp_path / "cold.thresher"
    model = Categorizer()
    for name in ("noise", "lighting"):
        model.add_category(name)
    model.save(path)
    with served(path) as desk:
        documents = [{"id": document.id, "text": document.text} for document in others[:4]]
        desk.post("/v1/documents", {"documents": documents})
        page = Page(browser, desk)
        page.go("review", ".toggle")
        first = page["#document-heading"].text_content()
        page.says("#summary", "Nothing is ticked")
        page.key("Enter")
        expect(page["#summary.fault"]).to_be_visible()
        page["#save"].click()
        page.key("1", "1", "Enter")  # ticked, and unticked
        expect(page["#document-heading"]).to_have_text(first)
        assert desk.last == 0
        page.key("0")
        expect(page["#none"]).to_have_attribute("aria-pressed", "true")
        page.says("#summary", "none of the categories")
        page.key("Enter")
        expect(page["#document-heading"]).not_to_have_text(first)
        assert desk.get("/v1/corrections")["corrections"][0]["categories"] == []
        page.key("0", "1", "Enter")
        page.says("#progress", "2 of 4")
        (said,) = desk.get("/v1/corrections", after=1)["corrections"]
        assert (said["accept"], said["reject"]) == (["noise"], [])
        page.context.close()


def test_a_late_answer_leaves_the_request_to_choose_red(browser: Any, tmp_path: Path, others: list[Document]) -> None:
    path, held = tmp_path / "cold.thresher", list[Any]()
    model = Categorizer()
    model.add_category("noise")
    model.save(path)
    with served(path) as desk:
        desk.post("/v1/documents", {"documents": [{"id": one.id, "text": one.text} for one in others[:2]]})
        page = Page(browser, desk)
        page.view.route("**/v1/categorize", lambda route: held.append(route))
        page.go("review", ".toggle")
        page.key("Enter")
        expect(page["#summary.fault"]).to_be_visible()
        with page.view.expect_response("**/v1/categorize"):
            held[0].continue_()
        page.view.wait_for_timeout(100)
        expect(page["#summary.fault"]).to_be_visible()
        page.context.close()


def test_enter_saves_after_a_tab_or_a_toggle_is_clicked(page: Page, desk: Served) -> None:
    """A link or a button that keeps the focus would take the key for itself."""
    page.go("categorize", "#text")
    page.view.get_by_role("link", name="Review").click()
    expect(page[".toggle"].first).to_be_visible()
    page.key("1", "Enter")
    page.says("#progress", "1 of 20")
    page["#none"].click()
    page.key("Enter")
    page.says("#progress", "2 of 20")
    page.view.get_by_role("link", name="Review").click()  # which is where we are
    page.key("1", "Enter")
    page.says("#progress", "3 of 20")
    page[".toggle"].nth(1).get_by_role("button").click()
    page.key("Enter")
    page.says("#progress", "4 of 20")
    complete = [one["categories"] for one in desk.get("/v1/corrections")["corrections"]]
    assert complete == [None, [], None, None]


def test_a_link_of_the_header_still_works_with_the_keyboard(page: Page) -> None:
    page.go("categorize", "#text")
    page.view.get_by_role("link", name="History").focus()
    page.key("Enter")
    expect(page["h1"]).to_have_text("History")


def test_none_of_these_can_be_undone(page: Page, desk: Served) -> None:
    page.go("review", ".toggle")
    page.key("1")
    before = page["#summary"].text_content()
    page["#none"].click()
    page.says("#summary", "none of the categories")
    expect(page[".toggle input:checked"]).to_have_count(0)
    page["#none"].click()
    expect(page["#summary"]).to_have_text(before)


def test_a_done_document_shows_only_its_corrected_categories_ticked(page: Page, desk: Served) -> None:
    """The model accepts a category that nobody spoke of: it is neither ticked nor rejected."""
    shown = desk.get("/v1/queue", limit=20)["documents"]
    surest = max(shown, key=lambda one: max(entry["score"] for entry in one["categories"]))
    id, model_said = surest["id"], max(surest["categories"], key=lambda entry: entry["score"])["category"]
    yes, no = [name for name in ("noise", "lighting", "schools") if name != model_said][:2]
    desk.correct(document=id, accept=[yes], by="ada")
    desk.correct(document=id, reject=[no], by="bob")
    (document,) = desk.get("/v1/queue", state="done")["documents"]
    assert model_said in [entry["category"] for entry in document["categories"] if entry["accepted"]]
    page.go("review", ".toggle")
    page["#state"].select_option("done")
    expect(page["#summary"]).to_have_text(f"Saving says: is {yes}; is not {no}.")
    expect(page[".toggle input:checked"]).to_have_count(1)
    expect(page[f'.toggle[data-category="{model_said}"]']).not_to_have_class(re.compile("rejected|ticked"))
    desk.correct(document=id, categories=[], by="ada")
    page.view.reload()
    page["#state"].select_option("done")
    expect(page["#summary"]).to_have_text("Saving says: none of the categories.")
    expect(page["#none"]).to_have_attribute("aria-pressed", "true")
    desk.correct(document=id, categories=[no], by="ada")
    page.view.reload()
    page["#state"].select_option("done")
    page.says("#summary", f"Saving says: is {no}; is not {yes}.")


# -- categories --------------------------------------------------------------------------------------------------------


def test_categories_are_sorted_and_show_their_quality(page: Page, desk: Served) -> None:
    page.go("categories", "tr[data-category]")
    page.says("#measured", "93 documents")
    page["[data-sort=f1]"].click()
    page["[data-sort=f1]"].click()
    rows = {one["name"]: one["f1"] for one in desk.get("/v1/categories")["categories"]}
    shown = page.view.eval_on_selector_all("tr[data-category]", "all => all.map(one => one.dataset.category)")
    sizes = [rows[name] for name in shown]
    assert sizes in (sorted(sizes), sorted(sizes, reverse=True))
    page["#filter"].fill("nois")
    expect(page["tr[data-category]"]).to_have_count(1)


def test_the_page_says_how_many_held_out_texts_are_taught(page: Page, desk: Served, others: list[Document]) -> None:
    for document in others[1:7:2]:
        desk.correct(text=document.text, categories=list(document.categories))
    for view in ("categories", "category/noise"):
        page.go(view, "#measured" if view == "categories" else "#threshold-handle")
        page.says("main", "Measured on 90 documents that were held out and never learned. 3 more were taught since")
    page.go("history", "#history > li")
    page.says("#stats", re.compile(r"90 documents.*taught, and are left out: 3\."))
    for document in others[7::2]:
        desk.correct(text=document.text, categories=list(document.categories))
    page.go("categories", "tr[data-category]")
    page.says("#measured", "Nothing is measured: the model was taught all 93 held-out documents")
    page.go("history", "#history > li")
    page.says("#stats", "All 93 held-out documents were taught")


def test_a_threshold_is_dragged_and_used(page: Page, desk: Served) -> None:
    before = desk.get("/v1/categories/noise")
    page.go("category/noise", "#threshold-handle")
    page.says("#readout", f"{before['threshold']:.3f}")
    page["#threshold-handle"].focus()
    page.key("ArrowLeft", "ArrowLeft", "ArrowLeft")
    page["#use-threshold"].click()
    page.says("#notice", re.compile("threshold", re.IGNORECASE))
    assert desk.get("/v1/categories/noise")["threshold"] != before["threshold"]
    assert desk.get("/v1/corrections", newest=True)["corrections"][0]["change"]["change"] == "threshold"


def test_categories_are_made_renamed_merged_and_retired(page: Page, desk: Served) -> None:
    page.go("categories", "tr[data-category]")
    page["#new-category"].click()
    page["#new-name"].fill("bees")
    page["#new-words"].fill("bee hive swarm")
    page.key("Enter")
    expect(page['tr[data-category="bees"]']).to_be_visible()
    assert desk.categorize(text="a swarm of bee and hive", top=1)["categories"][0]["category"] == "bees"
    page['tr[data-category="bees"] input'].check()
    page["#rename"].click()
    page["#rename-into"].fill("wasps")
    page.key("Enter")
    expect(page['tr[data-category="wasps"]']).to_be_visible()
    for name in ("wasps", "animals"):
        page[f'tr[data-category="{name}"] input'].check()
    page["#merge"].click()
    page["#merge-into"].fill("animals")
    page.key("Enter")
    expect(page['tr[data-category="wasps"]']).to_have_count(0)
    page['tr[data-category="parking"] input'].check()
    page["#retire"].click()
    page.view.get_by_role("dialog").get_by_role("button", name=re.compile("Retire")).click()
    expect(page['tr[data-category="parking"]']).to_have_count(0)
    names = [one["name"] for one in desk.get("/v1/categories")["categories"]]
    assert not {"bees", "wasps", "parking"} & set(names)


# -- history -----------------------------------------------------------------------------------------------------------


def test_history_shows_every_correction_and_undoes_one(page: Page, desk: Served) -> None:
    before = desk.digest
    desk.correct(text=LAMP, accept=["noise"], reject=["lighting"], by="ada")
    page.go("history", "#history > li")
    entry = page['#history > li[data-seq="1"]']
    for said in ("ada", "noise", "lighting", "promoted", LAMP[:30]):
        expect(entry).to_contain_text(said)
    expect(page["svg.plot"].first).to_be_visible()
    page.view.get_by_role("button", name="Undo no. 1").click()
    expect(page["#history > li.undone"]).to_have_count(1)
    assert desk.digest == before


def test_history_raises_the_alarm_when_errors_grow(page: Page, desk: Served, others: list[Document]) -> None:
    right = next(document for document in others if desk.categorize(text=document.text)["categories"])
    (known, *_) = [one["category"] for one in desk.categorize(text=right.text)["categories"]]
    for i in range(210):
        said: dict[str, Any] = {"accept": [known]} if i < 110 else {"reject" if i % 2 else "accept": [known]}
        desk.correct(text=f"{right.text} {i % 3}", **said)
    told = desk.get("/v1/stats")["drift"]
    page.go("history", "#history > li")
    if told["alarm"]:
        expect(page["#stats .caution[role=alert]"]).to_be_visible()
    assert told["alarm"], told


# -- never lost --------------------------------------------------------------------------------------------------------


def test_unsent_corrections_stay_in_the_browser(page: Page, desk: Served) -> None:
    page.go("categorize", "#text")
    page["#text"].fill(LAMP)
    expect(page['.rank[data-category="noise"]']).to_be_visible()
    page.key("Escape")
    page['.rank[data-category="noise"]'].click()
    page.context.set_offline(True)
    page.key("a")
    page.says("#unsent", "1 unsent")
    assert desk.last == 0
    page.context.set_offline(False)
    expect(page["#unsent"]).to_be_hidden()
    assert desk.last == 1


def test_a_correction_has_the_text_in_the_box_after_an_outage(page: Page, desk: Served) -> None:
    page.go("categorize", "#text")
    page["#text"].fill(LAMP)
    expect(page['.rank[data-category="noise"]']).to_be_visible()
    page.context.set_offline(True)
    other = "A deer was hit on the bypass, and lies in the lane"
    page["#text"].fill(other)
    page.says("#status", "The service cannot be reached.")
    expect(page[".rank"]).to_have_count(0)
    for hidden in ("#actions", "#lit", "#words"):
        expect(page[hidden]).to_be_hidden()
    page.key("Escape", "a", "r")
    expect(page["#unsent"]).to_be_hidden()
    page.context.set_offline(False)
    expect(page[".rank"].first).to_be_visible()  # it asks again by itself
    expect(page["#status"]).to_be_empty()
    page.key("a")
    page.says("#changed", re.compile("promoted|Kept"))
    (said,) = desk.get("/v1/corrections")["corrections"]
    assert said["text"] == other


def test_a_key_does_not_teach_the_category_of_the_text_before(page: Page, desk: Served) -> None:
    """It is pressed before the categories of the new text are there."""
    page.go("categorize", "#text")
    page["#text"].fill(LAMP)
    expect(page['.rank[data-category="noise"]']).to_be_visible()
    other = "A deer was hit on the bypass, and lies in the lane"
    page["#text"].fill(other)
    page.key("Escape", "a")
    page.says("#lit", other)
    assert desk.last == 0


def test_history_loads_when_the_service_is_back(page: Page, desk: Served) -> None:
    desk.correct(text=LAMP, accept=["noise"])
    page.go("categorize", "#text")
    page.context.set_offline(True)
    page.go("history", "#notice .fault")
    page.context.set_offline(False)
    expect(page["#history > li"]).to_have_count(1)
    expect(page["#notice"]).to_be_empty()


def test_unsent_corrections_of_another_page_are_sent(page: Page, desk: Served) -> None:
    entry = {"id": "left", "made": 1, "by": "", "body": {"id": "left", "text": LAMP, "accept": ["noise"]}}
    page.view.evaluate("entry => localStorage.setItem('thresher.unsent.left', JSON.stringify(entry))", entry)
    page.view.reload()
    expect(page["#views a"].first).to_be_visible()
    expect(page["#unsent"]).to_be_hidden()
    page.go("history", "#history > li")
    assert desk.get("/v1/corrections")["corrections"][0]["id"] == "left"


# -- hostile texts, and everyone's eyes --------------------------------------------------------------------------------


def test_hostile_texts_and_names_are_shown_and_never_run(page: Page, desk: Served) -> None:
    for i, name in enumerate(HOSTILE):
        text = f"{name} a hive {i} {' '.join(HOSTILE)}"
        # As `thresher learn` may teach it: over HTTP no new name may turn letters around.
        desk.service.write(
            partial(desk.service.served.journaled_model.correct, f"hostile {i}", text, accept=[name])
        ).result(30)
        desk.post("/v1/documents", {"documents": [{"id": f"{name}{i}", "text": text}]})
    desk.correct(text="a hive", accept=HOSTILE)
    page.go("categorize", "#text")
    page["#text"].fill(" ".join(HOSTILE) + " a hive")
    expect(page[".rank"].first).to_be_visible()
    page["#all"].click()
    page.view.get_by_role("option").filter(has_text="onerror").first.click()
    page.go("review", ".toggle")
    page["#search"].fill("onerror")
    expect(page["#lit"]).to_contain_text("<img src=x onerror=alert(1)>")
    page.go("categories", "tr[data-category]")
    for name in HOSTILE:
        page.go("categories", "tr[data-category]")
        page.view.get_by_role("link", name=name, exact=True).first.click()
        expect(page["h1"]).to_contain_text(name.strip("\u202e\u202c")[:4])
    page.go("history", "#history > li")
    page.says("#history", "</script><script>alert(2)</script>")
    assert page.view.evaluate("Object.keys(Object.prototype).length") == 0


def test_no_file_of_the_page_makes_elements_of_text() -> None:
    files = [file for file in PAGE.iterdir() if file.suffix in (".js", ".html")]
    assert len(files) > 10
    assert [file.name for file in files if FORBIDDEN.search(file.read_text("utf-8"))] == []
    assert "http:" not in (PAGE / "index.html").read_text("utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_view_has_a_serious_accessibility_fault(browser: Any, desk: Served, scheme: str, width: int) -> None:
    from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]

    desk.correct(text=LAMP, accept=["noise"])
    page = Page(browser, desk, viewport={"width": width, "height": 860}, color_scheme=scheme)
    views = {
        "categorize": "#text", "review": ".toggle", "categories": "tr[data-category]",
        "category/noise": "#threshold-handle", "history": "#history > li",
    }  # fmt: skip
    script = AXE_SCRIPT if isinstance(AXE_SCRIPT, str) else AXE_SCRIPT.read_text("utf-8")
    for view, wait in views.items():
        page.go(view, wait)
        if view == "categorize":
            page["#text"].fill(LAMP)
            expect(page["#lit mark"].first).to_be_visible()
        page.view.evaluate(script)
        found = page.view.evaluate("axe.run()")
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert serious == [], (view, json.dumps(serious)[:2000])
        overflow = page.view.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, view
    page.context.close()
