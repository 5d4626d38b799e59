"""JSON from outside, read strictly: no NaN, no key twice, no half letters; and what each route takes of it."""

import json
from typing import Annotated, Any, Literal, Never, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thresher.category_names import LONGEST_NAME
from thresher.journal import LONGEST_ID
from thresher.web.problems import Problem

LONGEST_BODY = 1_000_000  # bytes
MOST_CATEGORIES = 1000  # that one correction names
Model = TypeVar("Model", bound=BaseModel)


def _no_constant(name: str) -> Never:
    raise Problem(400, f"{name} is no JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Problem(400, "a name stands twice in an object")
    return found


def _bounded(digits: str) -> int:
    if len(digits) > 18:
        raise Problem(400, "a number is out of range")
    return int(digits)


def _finite(written: str) -> float:
    number = float(written)
    if number in (float("inf"), float("-inf")):
        raise Problem(400, "a number is out of range")
    return number


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, object_pairs_hook=_distinct, parse_int=_bounded, parse_float=_finite
)


def parsed(body: bytes) -> Any:
    """Return what strict JSON in UTF-8 says."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8 (byte {error.start})") from None
    if text.startswith("\ufeff"):
        raise Problem(400, "the body begins with a byte order mark (leave it out)")
    try:
        found = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Problem(400, f"the body is not JSON: {error.msg.lower()} at character {error.pos}") from None
    except RecursionError:
        raise Problem(400, "the body is nested too deeply") from None
    if "\\u" in text:  # the only way to write half a letter
        _check_letters(found)
    return found


def _check_letters(found: Any) -> None:
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        raise Problem(400, "a text holds half of a letter (a lone surrogate)") from None


class Body(BaseModel):
    """What bodies have in common: nothing that is not asked for, and kinds as they are."""

    model_config = ConfigDict(extra="forbid", strict=True)


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
Text = str | dict[str, str]
Names = Annotated[list[Name], Field(max_length=MOST_CATEGORIES)]


class DocumentIn(Body):
    """A document: its text, or the fields of it by name."""

    id: Id | None = None
    text: Text = Field(examples=["The lamp outside my house is dark again"])


class CategorizeIn(Body):
    """One document, or many, and how to answer."""

    id: Id | None = None
    text: Text | None = Field(None, examples=["The lamp outside my house is dark again"])
    document: Id | None = None
    documents: Annotated[list[str | DocumentIn], Field(max_length=100_000)] | None = None
    top: Annotated[int, Field(ge=1)] | None = None
    all: bool = False
    details: bool = False
    explain: bool | Name = False


class CorrectionIn(Body):
    """What is right about a text: some categories to accept and reject, or all that it has."""

    id: Id = Field(examples=["5e1b7a3c"])
    text: Text | None = Field(None, examples=["The lamp outside my house is dark again"])
    document: Id | None = None
    accept: Names = Field([], examples=[["street-lighting"]])
    reject: Names = []
    categories: Names | None = None
    create_category: bool = False
    user: Annotated[str, Field(max_length=LONGEST_ID)] | None = None


class CategoryChangeIn(Body):
    """A change of the categories."""

    id: Id | None = None
    change: Literal["new", "rename", "merge", "retire", "threshold"] = Field(examples=["new"])
    name: Name | None = Field(None, examples=["bees"])
    names: Names | None = None
    into: Name | None = None
    threshold: Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)] | int | None = None
    words: Annotated[list[str], Field(max_length=1000)] = Field([], examples=[["bee", "hive", "swarm"]])
    user: Annotated[str, Field(max_length=LONGEST_ID)] | None = None


class DocumentsIn(Body):
    """Documents to review."""

    documents: Annotated[list[str | DocumentIn], Field(max_length=100_000)] = Field(
        examples=[[{"id": "7", "text": "The lamp outside my house is dark again"}]]
    )


class StateIn(Body):
    """What has become of a document to review."""

    state: Literal["open", "unsure", "done"] = Field(examples=["unsure"])


class ReloadIn(Body):
    """Whether the journal of the model before may be put aside."""

    new_journal: bool = False


def checked(kind: type[Model], found: Any) -> Model:
    """Return a body as its kind, or say which part of it is wrong, without saying what it was."""
    if not isinstance(found, dict):
        raise Problem(422, "the body must be an object")
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        known = kind.model_fields.keys()
        place = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part in known or part == "text")
        raise Problem(422, f"{place or 'the body'}: {_plain(first['msg'])}") from None


def _plain(said: str) -> str:
    return said[:1].lower() + said[1:]
