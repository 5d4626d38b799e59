"""Values of options are read strictly: numbers in ASCII digits, within their range."""

import pytest
import typer

from thresher.cli.option_values import integer, parse_number, parse_pair, parse_whole_number


@pytest.mark.parametrize(("text", "value"), [("3", 3), (" +3 ", 3), ("-1", -1), ("007", 7)])
def test_whole_numbers_are_parsed(text: str, value: int) -> None:
    assert parse_whole_number(text) == value


@pytest.mark.parametrize("text", ["", "1.5", "1_5", "٣", "none", "1e3", "0x10", "--1"])
def test_other_texts_are_not_whole_numbers(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a whole number"):
        parse_whole_number(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("-.5", -0.5), ("2.", 2.0), ("1e-3", 0.001), ("None", "None"), ("1e999", float("inf"))],
)
def test_numbers_are_parsed_and_none_is_kept(text: str, value: float | str) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize("text", ["", ".", "nan", "inf", "-inf", "1_5", "١٫٥", "1,5"])
def test_other_texts_are_not_numbers(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a number"):
        parse_number(text)


def test_a_pair_is_two_numbers_and_other_texts_are_kept() -> None:
    assert parse_pair("0.9,1.1") == (0.9, 1.1)
    assert [parse_pair(text) for text in ("initial", "1", "1,2,3")] == ["initial", "1", "1,2,3"]
    with pytest.raises(typer.BadParameter, match="not a number"):
        parse_pair("1,nan")


def test_a_number_out_of_its_range_is_refused_with_the_range() -> None:
    assert integer(2)("2") == 2
    assert integer(0, 9)(9) == 9, "a default is a number already"
    with pytest.raises(typer.BadParameter, match=r"1 \(allowed: a whole number from 2\)"):
        integer(2)("1")
    with pytest.raises(typer.BadParameter, match=r"10 \(allowed: 0 to 9\)"):
        integer(0, 9)("10")
