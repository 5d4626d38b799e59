"""Read the sample corpus: 586 messages to the service desk of a small city in order of time, 400 for training.

Millbrook, its people and their messages are fictional. They were written for this project and have its license. A
message has zero to three of 14 categories: roads, lighting, waste, parks, water, noise, parking, animals, transport,
housing, taxes, permits, schools, accessibility. A category is a matter that the desk is asked to deal with, not a word
that occurs in the message.
"""

from collections.abc import Iterator
from pathlib import Path

from thresher.datasets.document import Document
from thresher.datasets.formats.jsonl import read_jsonl
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError, ParameterError

SPLITS = ("train", "test")


def read_sample(split: str = "train") -> Iterator[Document | DataError]:
    """Yield the messages of the split "train" or "test".

    >>> first = next(read_sample("train"))
    >>> first.id, first.categories
    ('m001', ('waste',))
    """
    if split not in SPLITS:
        raise ParameterError(f"sample:{split} is unknown", hint="allowed: sample:train, sample:test")
    path = Path(__file__).with_name(f"{split}.jsonl")
    return read_jsonl(Lines(path, ReadOptions()), ReadOptions(), lambda _: None)
