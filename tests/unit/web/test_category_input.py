"""Names of categories as people type them: however many and however long they are, a look takes little time."""

import time
import unicodedata
from pathlib import Path

import pytest
from rich.text import Text

from support.command_line import Run
from support.served import Served, check_problem, known, new_model, served
from support.worst import long_name
from thresher import Categorizer
from thresher.cli.console import visible_text
from thresher.web.category_input import CategoryNames, check_visible
from thresher.web.errors import Problem

MANY = 100_000
TURNING = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
MARKS = ["\u200e", "\u200f", "\u061c"]


class Counted(str):
    """A name that counts how often it is looked at."""

    looks = 0

    def casefold(self) -> str:
        Counted.looks += 1
        return super().casefold()


def test_a_thousand_new_names_are_checked_with_one_lookup_each() -> None:
    names = CategoryNames([Counted(f"category {i}") for i in range(MANY)])
    Counted.looks = 0
    start = time.process_time()
    for i in range(1000):
        assert names.resolve(f" new {i}", create=True) == f"new {i}"
        assert names.resolve(f"category {i}", create=False) == f"category {i}"
    assert Counted.looks == MANY
    assert time.process_time() - start < 1


@pytest.mark.parametrize("make", [long_name, lambda i: "a" * 190 + str(i), lambda i: f"category number {i}"])
def test_the_nearest_of_many_long_names_are_found_quickly(make: "type[str]") -> None:
    names = CategoryNames([make(i) for i in range(20_000)])
    names.nearest("once")  # what is known of the names is made once
    start = time.process_time()
    for i in range(5):
        names.nearest(make(-i))
    assert time.process_time() - start < 1


def test_the_nearest_are_the_same_among_few_and_many() -> None:
    words = ["lighting", "roads", "noise", "energy", "grain", "metals", "housing", "taxes", "parking", "permits"]
    many = CategoryNames([*words, *(f"{a} {b}" for a in words for b in words), *(f"unit {i:05}" for i in range(5000))])
    for typed, meant in (("grian", "grain"), ("ligthing", "lighting"), ("hosing", "housing"), ("enrgy", "energy")):
        assert CategoryNames(words).nearest(typed)[0] == many.nearest(typed)[0] == meant
    assert many.nearest("roads and metals")[0] == "roads metals"


def test_names_that_begin_alike_are_all_found() -> None:
    names = [f"{'x' * 70} {i}" for i in range(3)]
    assert CategoryNames(names).nearest("x" * 70) == names


# -- capitals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [["Foo", "foo"], ["Foo", "bar", "FOO"], ["Straße", "STRASSE"]])
@pytest.mark.parametrize("said", ["accept", "categories"])
def test_new_names_that_differ_in_capitals_alone_are_refused(fresh: Served, given: list[str], said: str) -> None:
    before = fresh.digest, fresh.last
    body = {"id": "twins", "text": "plank", said: given, "create_category": True}
    problem = check_problem(fresh.client().post("/v1/corrections", json=body), 409)
    assert problem["nearest"][0] in given
    assert (fresh.digest, fresh.last) == before


def test_a_new_name_that_is_given_twice_counts_once(fresh: Served) -> None:
    assert fresh.correct(text="plank", accept=["Foo", " Foo "], create_category=True)["new_categories"] == ["Foo"]


def test_names_of_a_model_that_differ_in_capitals_alone_can_be_taught(tmp_path: Path) -> None:
    Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, [["Foo", "foo"], ["bees"]] * 3).save(
        tmp_path / "m.thresher"
    )
    with served(tmp_path / "m.thresher") as running:
        assert running.correct(text="plank", accept=["Foo", "foo"])["new_categories"] == []


# -- letters that turn others around -----------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", TURNING, ids=ascii)
def test_a_new_name_may_not_reverse_letters(service: Served, letter: str) -> None:
    for body in (
        {"id": "turned", "text": "wheat", "accept": [f"{letter}evil"], "create_category": True},
        {"id": "turned", "text": "wheat", "categories": [f"ev{letter}il"], "create_category": True},
    ):
        check_problem(service.client().post("/v1/corrections", json=body), 422)
    for change in ({"change": "new", "name": f"evil{letter}"}, {"change": "rename", "name": "grain", "into": letter}):
        check_problem(service.client().post("/v1/categories", json=change), 422)


@pytest.mark.parametrize("mark", MARKS, ids=ascii)
def test_direction_marks_may_be_part_of_a_name_but_not_all_of_it(fresh: Served, mark: str) -> None:
    assert unicodedata.category(mark) == "Cf"
    name = f"שלום{mark}!"
    assert fresh.correct(text="plank", accept=[name], create_category=True)["new_categories"] == [name]
    with pytest.raises(Problem):
        check_visible(mark)


def test_a_model_with_names_that_reverse_letters_still_works(tmp_path: Path, called: Run) -> None:
    name = "\u202eevil\u202c"
    Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, [[name], ["bees"]] * 3).save(tmp_path / "m.thresher")
    with served(tmp_path / "m.thresher") as running:
        assert known(running) == ["bees", name]
        assert running.correct(text="plank", accept=[name])["new_categories"] == []
        (found,) = running.categorize(text="plank", explain=name)["explanations"]
        assert found["category"] == name
        running.post("/v1/categories", {"change": "rename", "name": name, "into": "good"})
    shown = called("inspect", tmp_path / "m.thresher", "--no-json").out
    assert "good" in shown


def test_a_terminal_shows_letters_that_reverse_others(tmp_path: Path, called: Run) -> None:
    name = "\u202eevil\u202c"
    Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, [[name], ["bees"]] * 3).save(tmp_path / "m.thresher")
    shown = called("inspect", tmp_path / "m.thresher", "--no-json").out
    assert "\\u202eevil\\u202c" in shown
    assert not set(shown) & set(TURNING)
    for letter in TURNING:
        assert visible_text(f"a{letter}b") == Text(f"a\\u{ord(letter):04x}b")
    assert visible_text("a\u200eb") == Text("a\u200eb")


def test_an_error_shows_letters_that_reverse_others(tmp_path: Path, called: Run) -> None:
    ended = called("inspect", new_model(tmp_path), "\u202eevil", "--no-json")
    assert ended.code != 0
    assert "\u202e" not in ended.err
