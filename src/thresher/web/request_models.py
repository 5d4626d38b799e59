"""The bodies of requests: strict JSON, and a model of each body."""

from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    RootModel,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError

from thresher.datasets.category_names import MAX_NAME_LENGTH
from thresher.journal.event_log import MAX_ID_LENGTH
from thresher.support import strict_json
from thresher.web.errors import Problem

MAX_BODY_BYTES = 1_000_000  # bytes
MAX_CATEGORIES = 1000  # that one correction names
MAX_FIELDS = 1000  # that one document has
_MAX_DIGITS = 18  # of a whole number, so that it has 64 bits
Model = TypeVar("Model", bound=BaseModel)


def parse(body: bytes) -> Any:
    """Return the value of a body in strict JSON; no error quotes the body."""
    try:
        return strict_json.parse(body, max_digits=_MAX_DIGITS)
    except strict_json.JsonError as error:
        raise Problem(400, f"the body is not strict JSON: {error.message}") from None


class Body(BaseModel):
    """What bodies have in common: unknown names are refused, and no value is converted to another type.

    Where only some names may occur together, `forms` lists which, and `says` is the message if others are sent.
    A name whose value is the default counts as not given.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    forms: ClassVar[frozenset[frozenset[str]]] = frozenset()
    says: ClassVar[str] = ""

    def check_form(self) -> Self:
        """Refuse names that may not occur together."""
        defaults = _defaults(type(self))
        given = frozenset(name for name, default in defaults.items() if getattr(self, name) != default)
        if given not in self.forms:
            raise Problem(422, self.says)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        for form in sorted(map(sorted, cls.forms)):
            absent = {name: {"const": default} for name, default in _defaults(cls).items() if name not in form}
            given = {name: {"not": {"const": _defaults(cls)[name]}} for name in form}
            schema.setdefault("anyOf", []).append({"required": form, "properties": given | absent})
        return schema


@cache
def _defaults(kind: type[Body]) -> dict[str, Any]:
    return {name: kind.model_fields[name].default for form in kind.forms for name in form}


def _forms(*forms: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(names.split()) for names in forms)


def _as_integer(number: Any) -> Any:
    """Return an integer for a float such as 3.0, which is the same number in JSON."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _limit_fields(fields: Any) -> Any:
    """Return fields, or refuse too many before pydantic validates each of them."""
    if isinstance(fields, dict) and len(fields) > MAX_FIELDS:
        raise PydanticCustomError("too_many", "there are too many fields")
    return fields


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH)]
Text = str | Annotated[dict[str, str], Field(max_length=MAX_FIELDS), BeforeValidator(_limit_fields)]
User = Annotated[str, Field(max_length=MAX_ID_LENGTH)]
Names = Annotated[list[Name], Field(max_length=MAX_CATEGORIES)]


class DocumentIn(Body):
    """A document: its text, or its fields by name."""

    id: Id | None = None
    text: Text = Field(examples=["The lamp outside my house is dark again"])


# Only the first error is reported: to gather all of them took a second, and a thousand times the body's room.
Documents = Annotated[list[str | DocumentIn], Field(max_length=100_000, fail_fast=True)]


class OptionsIn(Body):
    """Options of the answer."""

    top: Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_as_integer)] | None = None
    all: bool = False
    details: bool = False
    explain: bool | Name = False


class CategorizeIn(OptionsIn):
    """One document or several, and options of the answer.

    Details and explanations are given for at most 1,000 documents. Explanations are given for at most 500,000 letters:
    a text counts once for each explained category, and as at least 200 letters. Of the accepted categories of a
    document, the 20 best are explained, or as many of them as fit. An answer has at most 50,000,000 bytes. The status
    is 422 beyond these limits, and if not even one category of a document fits. Stream the documents, or send shorter
    ones.
    """

    forms = _forms("text", "document", "documents")
    says = "categorize takes one of these: a text, a document to review, or a list of documents"
    _check = model_validator(mode="after")(Body.check_form)
    id: Id | None = None
    text: Text | None = Field(None, examples=["The lamp outside my house is dark again"])
    document: Id | None = None
    documents: Documents | None = None


class CorrectionIn(Body):
    """The right categories of a text: some to accept and reject, or all that it has."""

    forms = _forms(
        "text accept", "text reject", "text accept reject", "text categories",
        "document accept", "document reject", "document accept reject", "document categories",
    )  # fmt: skip
    says = (
        "a correction has either a text or the id of a document to review; "
        "and it names either all categories, or some to accept and reject"
    )
    _check = model_validator(mode="after")(Body.check_form)
    id: Id = Field(examples=["5e1b7a3c"])
    text: Text | None = Field(None, examples=["The lamp outside my house is dark again"])
    document: Id | None = None
    accept: Names = Field([], examples=[["street-lighting"]])
    reject: Names = []
    categories: Names | None = None
    create_category: bool = Field(False, examples=[True])
    user: User | None = None


class ChangeIn(Body):
    """What all changes of categories have in common; a client that may send a change twice chooses its id."""

    id: Id | None = None
    user: User | None = None


class NewCategory(ChangeIn):
    """A new category, with a few typical words if given."""

    change: Literal["new"]
    name: Name = Field(examples=["bees"])
    words: Annotated[list[str], Field(max_length=1000)] = Field([], examples=[["bee", "hive", "swarm"]])


class Rename(ChangeIn):
    """A new name for a category."""

    change: Literal["rename"]
    name: Name
    into: Name


class Merge(ChangeIn):
    """Two or more categories that become one."""

    change: Literal["merge"]
    names: Names
    into: Name


class Retire(ChangeIn):
    """A category to remove."""

    change: Literal["retire"]
    name: Name


class NewThreshold(ChangeIn):
    """A new threshold for a category."""

    change: Literal["threshold"]
    name: Name
    threshold: Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


CategoryChange = NewCategory | Rename | Merge | Retire | NewThreshold


class CategoryChangeIn(RootModel[Annotated[CategoryChange, Field(discriminator="change")]]):
    """A change of the categories."""


class DocumentsIn(Body):
    """Documents to review."""

    documents: Documents = Field(examples=[[{"id": "7", "text": "The lamp outside my house is dark again"}]])


class StateIn(Body):
    """The state of a document to review."""

    state: Literal["open", "unsure", "done"] = Field(examples=["unsure"])


class ReloadIn(Body):
    """Whether the journal of the previous model may be moved aside."""

    new_journal: bool = False


class BackupIn(Body):
    """Whether the copy is temporary: it is removed later unless it was moved away."""

    temporary: bool = False


def check_object(value: Any) -> None:
    """Refuse a body that is not an object, or one whose names are too many to report each."""
    if not isinstance(value, dict):
        raise Problem(422, "the body must be an object")
    if len(value) > len(_KNOWN):
        raise Problem(422, "the body: it has too many names")


def validate(kind: type[Model], value: Any) -> Model:
    """Return a body as its model."""
    check_object(value)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise invalid_body(error.errors(include_input=False, include_url=False)[0]) from None


def invalid_body(error: ErrorDetails) -> Problem:
    """Return the problem for an error of pydantic; it names the wrong part, and quotes nothing that was sent."""
    loc = error["loc"][1:] if error["loc"][:1] in _CHANGES else error["loc"]
    place = ".".join(str(part) for part in loc if isinstance(part, int) or part in _KNOWN)
    return Problem(422, f"{place or 'the body'}: {_describe(error)}")


def _fields(kind: type[Body]) -> set[str]:
    return set(kind.model_fields).union(*map(_fields, kind.__subclasses__()))


_KNOWN = _fields(Body)
_CHANGES = {("new",), ("rename",), ("merge",), ("retire",), ("threshold",)}  # places in a change begin with its kind


def _describe(error: ErrorDetails) -> str:
    """Return the message of an error; for an unknown kind, the known ones, as pydantic would quote what was sent."""
    if "expected_tags" in error.get("ctx", {}):
        return f"it must be one of {error['ctx']['expected_tags']}"
    return error["msg"][:1].lower() + error["msg"][1:]
