"""Errors carry fields, and each shell writes them in its own words."""

import pickle

import pytest

from thresher.cli.exit_codes import format_error
from thresher.cli.options import as_option
from thresher.errors import (
    DataError,
    JournalError,
    MissingPackageError,
    ParameterError,
    SpillError,
    TextError,
    ThresherError,
    escape_braces,
)


def bad_byte() -> DataError:
    return DataError("{byte} is not UTF-8", hint="use {encoding=latin-1} or {quoting=False}", byte="0xff").at(
        "a.csv", 3
    )


def test_the_text_names_place_problem_and_hint_with_arguments() -> None:
    assert str(bad_byte()) == "a.csv:3: '0xff' is not UTF-8 (use encoding='latin-1' or quoting=False)"


def test_the_command_line_names_options() -> None:
    assert format_error(bad_byte()) == "a.csv:3: '0xff' is not UTF-8 (use --encoding latin-1 or --no-quoting)"
    assert (
        format_error(ParameterError.of("folds", 1, allowed="2 to 100"))
        == "invalid --tuning-folds: 1 (allowed: 2 to 100)"
    )
    assert format_error(ParameterError.of("goal", 1, allowed="f1")) == "invalid goal: 1 (allowed: f1)"


def test_without_values_nothing_of_a_request_is_repeated() -> None:
    assert bad_byte().message(with_values=False) == "is not UTF-8 (use encoding='latin-1' or quoting=False)"
    assert ParameterError.of("top", "secret", allowed="a number").message(with_values=False) == (
        "invalid top (allowed: a number)"
    )


def test_a_value_with_braces_is_not_replaced() -> None:
    error = TextError("category {name} is unknown", name="{name} {encoding=x}", hint="known: {a, b}")
    assert str(error) == "category '{name} {encoding=x}' is unknown (known: {a, b})"


def test_data_in_a_hint_is_not_taken_for_a_parameter() -> None:
    error = DataError("no column", hint=f"there are: {escape_braces('{encoding}')}; name it with {{text=COLUMN}}")
    assert error.message(as_option) == "no column (there are: {encoding}; name it with --text COLUMN)"
    assert error.parameters() == ["text"]


def test_an_error_that_is_quoted_keeps_its_place_and_value() -> None:
    problem, values = ParameterError.of("threshold", 7.5, allowed="up to 1").at("model", 3).template()
    assert str(JournalError(f"record 4: {problem}", **values)) == "record 4: model:3: invalid threshold: 7.5"


def test_a_place_that_is_known_stays() -> None:
    assert bad_byte().at("b.csv", 9).place() == "a.csv:3"
    assert TextError("empty", index=2).place() == "text 2"
    assert TextError("empty", index=2).at("a.csv:7").place() == "a.csv:7"


@pytest.mark.parametrize(
    "error",
    [
        bad_byte(),
        TextError("no features", index=4),
        ParameterError.of("alpha", 0.5, allowed="above 1"),
        MissingPackageError("zstd is missing", hint="pip install 'thresher-text[zstd]'"),
        SpillError("No space left", path="/tmp/x"),
        ThresherError("plain"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_a_pickle(error: ThresherError) -> None:
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error)
    assert (str(twin), twin.__dict__) == (str(error), error.__dict__)
