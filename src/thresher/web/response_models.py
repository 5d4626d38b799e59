"""The answers of the routes, for the OpenAPI description; routes return JSON without these classes, for speed."""

from typing import Any

from pydantic import BaseModel, Field

_PREDICTED = [{"category": "street-lighting", "score": 1.41, "probability": 0.93}]


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["a category is unknown (create_category makes it)"])
    nearest: list[str] | None = Field(None, examples=[["street-lighting"]])


class Health(BaseModel):
    """Whether the service is running, or ready."""

    status: str = Field(examples=["ok"])


class Word(BaseModel):
    """The contribution of a word to a score, and its positions in the text."""

    word: str
    contribution: float
    positions: list[tuple[int, int]]


class Explanation(BaseModel):
    """Why a document is, or is not, in a category."""

    category: str
    accepted: bool
    score: float
    raw: float
    threshold: float
    probability: float
    unknown: int
    words: list[Word]


class Predicted(BaseModel):
    """A category of a document; the last three if details were asked for."""

    category: str
    score: float
    probability: float
    accepted: bool | None = None
    raw: float | None = None
    threshold: float | None = None


class Categorized(BaseModel):
    """The categories of a document, as `thresher predict --json` prints them; or of many, in `documents`."""

    id: str | None = Field(None, examples=["1"])
    categories: list[Predicted] | None = Field(None, examples=[_PREDICTED])
    empty: bool | None = None
    explanations: list[Explanation] | None = None
    documents: list[dict[str, Any]] | None = None


class Effect(BaseModel):
    """The prediction before a correction, its mistakes, and the number of weights that changed, by category."""

    predicted: list[str]
    mistakes: list[str]
    promoted: dict[str, int]
    demoted: dict[str, int]


class Change(BaseModel):
    """The weight of a word before and after a correction."""

    word: str
    before: float
    after: float


class Taught(BaseModel):
    """The result of a correction."""

    seq: int = Field(examples=[12])
    id: str = Field(examples=["5e1b7a3c"])
    repeated: bool
    undone_by: int | None = None
    position: int
    new_categories: list[str]
    effect: Effect
    words: dict[str, list[Change]]


class Correction(BaseModel):
    """A record of the journal."""

    seq: int
    id: str
    kind: str
    time: str
    user: str
    undone_by: int | None = None
    accept: list[str] | None = None
    reject: list[str] | None = None
    categories: list[str] | None = None
    document: str | None = None
    text: str | None = None
    effect: Effect | None = None
    change: dict[str, Any] | None = None


class Corrections(BaseModel):
    """A page of the journal; `next` is where the next one begins."""

    corrections: list[Correction]
    next: int | None


class Undone(BaseModel):
    """The record that was undone, and the record that undid it."""

    seq: int
    id: str
    undone: int
    position: int


class MeasuredOn(BaseModel):
    """The number and kind of the documents that rates are measured on; taught held-out documents are left out."""

    documents: int
    held_out: bool
    taught: int


class CategoryRow(BaseModel):
    """A category and its quality."""

    name: str = Field(examples=["street-lighting"])
    documents: int
    threshold: float
    features: int
    precision: float | None
    recall: float | None
    f1: float | None
    break_even: float | None
    corrections: int


class Categories(BaseModel):
    """All categories."""

    categories: list[CategoryRow]
    measured_on: MeasuredOn


class Weighed(BaseModel):
    """A word and its weight."""

    word: str
    weight: float


class Point(BaseModel):
    """Precision and recall at a threshold."""

    threshold: float
    precision: float
    recall: float


class Category(CategoryRow):
    """One category: its words, its curve and its latest mistakes."""

    for_: list[Weighed] = Field(alias="for")
    against: list[Weighed]
    curve: list[Point]
    mistakes: list[Correction]
    measured_on: MeasuredOn


class Changed(BaseModel):
    """The result of a change of the categories."""

    seq: int
    id: str
    position: int
    categories: list[str]


class Added(BaseModel):
    """The number of documents that are new, and of those that were known."""

    added: int
    known: int


class Document(BaseModel):
    """A document to review."""

    id: str
    text: str | dict[str, str]
    state: str


class Reviewed(Document):
    """A document to review, with its prediction and its last 20 corrections."""

    uncertainty: float
    in_range: bool
    categories: list[Predicted]
    empty: bool | None = None
    corrections: list[dict[str, Any]]
    disagreement: list[str]


class Queue(BaseModel):
    """A page of documents to review."""

    documents: list[Reviewed]
    matching: int
    open: int
    unsure: int
    done: int
    total: int


class Stats(BaseModel):
    """The statistics of the model since the journal began."""

    corrections: int
    undone: int
    mistakes: int
    error: float | None
    window: int
    sliding_error: float | None
    curve: list[dict[str, float]]
    drift: dict[str, Any]
    users: dict[str, int]
    other_users: int
    holdout: dict[str, Any] | None
    documents: dict[str, int]


class Model(BaseModel):
    """The model, and the user who asks."""

    model: str
    version: str
    digest: str
    position: int
    preset: str
    learner: str
    policy: str
    categories: int
    features: int
    settings: dict[str, Any]
    role: str
    user: str


class Reloaded(BaseModel):
    """Whether the model file held another model."""

    changed: bool
    digest: str


class BackedUp(BaseModel):
    """The folder of the copy, within that of the journal, and the number of its records."""

    folder: str
    records: int
