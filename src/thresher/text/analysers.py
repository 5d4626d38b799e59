"""Analysers, which convert text to features by name; each model has one.

The name of an analyser lists its parts, joined with "+", such as "words+ngrams:2+title". The parts are:

- `words`: lowercase words, or pairs of characters in a script without spaces.
- `lemmas`, `lemmas:LANGUAGE`: lemmas of words. `nouns-and-verbs`: lemmas of English nouns and verbs, as in the paper.
- `ngrams:N`: runs of 2 to N words. `sparse:N:WINDOW`: ordered choices of N words within a window of WINDOW words.
- `sets:sentence`, `sets:document`: unordered pairs of different words.
- `chars:LOW-HIGH`: runs of LOW to HIGH characters within a word.
- `title`: the words of the title, again, as features of their own. The title is the field of that name or, in plain
  text, the first line. Fields other than `title`, `body` and `text` are always marked with their name.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError, TextError
from thresher.kernels.tokenizer import NONE, Tokens
from thresher.text import token_features
from thresher.text.feature_checks import CONSTANT
from thresher.text.lemmas import WordMap, lemmatizer, noun_or_verb
from thresher.text.tokens import encode, tokenize

Text = str | Mapping[str, str]
Part = str | Callable[[str], Iterable[str]]

_BASES = r"words|lemmas(?::[a-z]{2,3})?|nouns-and-verbs"
_PART = re.compile(rf"(?:{_BASES}|ngrams:[2-5]|sparse:[23]:[2-9]|sets:(?:sentence|document)|chars:[1-9]-[1-9]|title)")
_ALLOWED = (
    "words, lemmas, lemmas:LANGUAGE, nouns-and-verbs, ngrams:2 to 5, sparse:2:WINDOW, sparse:3:WINDOW, sets:sentence, "
    "sets:document, chars:LOW-HIGH, title, joined with +, or functions from str to strings"
)
_PLAIN_FIELDS = ("title", "body", "text")


class Recipe(NamedTuple):
    """The features that an analyser makes of words alone, in order.

    Step 1 is the words, steps 2 to 5 runs of as many words, and step 0 the pieces of words, whose `sizes` are the least
    and the highest number of characters. Words of fields come last.
    """

    steps: NDArray[np.int64]
    sizes: tuple[int, int]


class Words(NamedTuple):
    """The words of some texts, and those of the fields whose words are marked: `which` is the field of each."""

    plain: Tokens
    marked: Tokens
    fields: list[str]
    which: NDArray[np.int64]


class Analyser:
    """Converts texts to tokens, by the parts that its name lists.

    >>> from thresher.text.tokens import decode_words
    >>> [decode_words(tokens) for tokens in Analyser("words+ngrams:2")(["Crude oil rose"])]
    [[['crude', 'oil', 'rose']], [['crude oil', 'oil rose']]]
    """

    def __init__(self, parts: Part | Sequence[Part] = "words") -> None:
        given: list[Any] = list(parts) if isinstance(parts, list | tuple) else [parts]
        flat: list[Part] = []
        for part in given:
            flat += part.split("+") if isinstance(part, str) else [part]
        for part in flat:
            _check_part(part)
        if not flat:
            raise ParameterError.of("analyser", parts, "it has no parts", allowed=_ALLOWED)
        self.parts = [part for part in flat if isinstance(part, str)]
        self.functions = [part for part in flat if callable(part)]
        bases = [part for part in self.parts if re.fullmatch(_BASES, part)]
        if len(bases) > 1:
            raise ParameterError.of("analyser", "+".join(bases), allowed="one kind of words")
        self._base = bases[0] if bases else None
        self._map = _make_word_map(self._base)
        self._makers = [maker for part in self.parts for maker in _list_makers(part)]
        self.recipe = _make_recipe(self.parts) if self._base and not self.functions else None
        self._has_sentences = any(part.startswith("sets") for part in self.parts)

    @property
    def name(self) -> str:
        """The parts joined with +; functions by their names in parentheses."""
        return "+".join(self.parts + [f"({_name_function(function)})" for function in self.functions])

    @property
    def is_stateful(self) -> bool:
        """Whether the analyser keeps state or runs user code, so that it is not safe on several threads."""
        return self._map is not None or bool(self.functions)

    def __call__(self, texts: Sequence[Text], positions: bool = False) -> list[Tokens]:
        """Return the tokens of each part for all texts."""
        plain, fields = _split_fields(texts)
        tokens = []
        if self.parts:
            base = self._tokenize(plain, positions or self._has_sentences)
            tokens = [base] if self._base else []
            tokens += [make(base) for make in self._makers]
            if fields or "title" in self.parts:
                tokens.append(self._field_tokens(texts, fields, positions))
        tokens += [_call_function(function, plain) for function in self.functions]
        return tokens

    def _tokenize(self, texts: Sequence[str], positions: bool) -> Tokens:
        tokens = tokenize(texts, positions)
        return self._map(tokens) if self._map else tokens

    def split_words(self, texts: Sequence[Text]) -> Words:
        """Return the words of all texts, from which the recipe makes the features; only where there is a recipe."""
        plain, fields = _split_fields(texts)
        words = self._tokenize(plain, False)
        if fields or "title" in self.parts:
            return Words(words, *self._tokenize_fields(texts, fields, False))
        return Words(words, Tokens(words.letters[:0], NONE), [], NONE)

    def _field_tokens(self, texts: Sequence[Text], fields: list[Mapping[str, str]], positions: bool) -> Tokens:
        """Return the tokens of titles and of fields with other names, prefixed with the field's name."""
        return token_features.prefix_tokens(*self._tokenize_fields(texts, fields, positions))

    def _tokenize_fields(
        self, texts: Sequence[Text], fields: list[Mapping[str, str]], positions: bool
    ) -> tuple[Tokens, list[str], NDArray[np.int64]]:
        """Return the tokens of titles and of other fields, the names of the fields, and the field of each token."""
        fields = fields or [{}] * len(texts)
        marked = [self._select_marked(text, parts) for text, parts in zip(texts, fields, strict=True)]
        flat = [part for row in marked for part in row.values()]
        tokens = self._tokenize(flat, positions)
        prefixes = {name: number for number, name in enumerate({name: None for row in marked for name in row})}
        counts = np.diff(tokens.documents, prepend=0)
        which = np.array([prefixes[name] for row in marked for name in row], dtype=np.int64)
        if positions:
            wanted = [
                own.get(name, 0) for row, own in zip(marked, map(_locate_fields, fields), strict=True) for name in row
            ]
            offset = np.repeat(np.array(wanted, dtype=np.int64) - _locate_texts(flat), counts)
            tokens = tokens._replace(starts=tokens.starts + offset, ends=tokens.ends + offset)
        documents = np.append(0, tokens.documents)[np.cumsum([len(row) for row in marked], dtype=np.int64)]
        return tokens._replace(documents=documents), list(prefixes), np.repeat(which, counts)

    def _select_marked(self, text: Text, fields: Mapping[str, str]) -> dict[str, str]:
        """Return the fields whose words are prefixed with the field's name, sorted by name."""
        marked = {name: part for name, part in fields.items() if name not in _PLAIN_FIELDS}
        if "title" in self.parts:
            marked["title"] = _find_title(text)
        return dict(sorted(marked.items())) if len(marked) > 1 else marked


def _split_fields(texts: Sequence[Text]) -> tuple[Sequence[str], list[Mapping[str, str]]]:
    """Return the texts as plain ones, and the fields of each, or none if all are plain."""
    plain_alone = type(texts[0]) is str if len(texts) == 1 else set(map(type, texts)) <= {str}
    fields = [] if plain_alone else [_check_fields(text) for text in texts]
    plain: Sequence[Any] = ["\n".join(parts.values()) for parts in fields] if fields else texts
    return plain, fields


def _locate_fields(fields: Mapping[str, str]) -> dict[str, int]:
    """Return the byte at which each field starts when all fields are joined."""
    return dict(zip(fields, _locate_texts(list(fields.values())).tolist(), strict=True))


def _locate_texts(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return the byte at which each text starts when all are joined with one byte between them."""
    sizes = np.array([len(part) + 1 for part in encode(texts)], dtype=np.int64)
    return np.cumsum(sizes) - sizes


def _check_part(part: Any) -> None:
    numbers = re.findall("[0-9]", part) if isinstance(part, str) else []
    disordered = len(numbers) == 2 and numbers[0] > numbers[1]
    if not callable(part) and (not isinstance(part, str) or not _PART.fullmatch(part) or disordered):
        raise ParameterError.of("analyser", part, allowed=f"{_ALLOWED}")


def _name_function(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"


def _make_word_map(base: str | None) -> WordMap | None:
    if base == "nouns-and-verbs":
        return WordMap(noun_or_verb)
    if base and base.startswith("lemmas"):
        return WordMap(lemmatizer(base.partition(":")[2] or "en"))
    return None


def _list_makers(part: str) -> list[Callable[[Tokens], Tokens]]:
    """Return the functions that make the tokens of a part from words."""
    name, *numbers = re.split("[:-]", part)
    if name == "ngrams":
        return [partial(token_features.make_ngrams, n=n) for n in range(2, int(numbers[0]) + 1)]
    if name == "sparse":
        return [partial(token_features.make_sparse_ngrams, n=int(numbers[0]), window=int(numbers[1]))]
    if name == "sets":
        return [partial(token_features.make_word_sets, within=numbers[0])]
    if name == "chars":
        return [partial(token_features.cut_pieces, low=int(numbers[0]), high=int(numbers[1]))]
    return []


def _make_recipe(parts: list[str]) -> Recipe | None:
    """Return the recipe of parts, or None if they are not made of words alone, or of more than one kind of pieces."""
    steps, sizes = [1], (1, 1)
    for part in parts:
        name, *numbers = re.split("[:-]", part)
        if name == "ngrams" and max(steps) == 1:
            steps += range(2, int(numbers[0]) + 1)
        elif name == "chars" and 0 not in steps:
            steps.append(0)
            sizes = int(numbers[0]), int(numbers[1])
        elif name in ("ngrams", "chars", "sparse", "sets"):
            return None
    return Recipe(np.array(steps, dtype=np.int64), sizes)


def _check_fields(text: Text) -> Mapping[str, str]:
    if isinstance(text, str):
        return {"text": text}
    if type(text) is dict and set(map(type, chain(text, text.values()))) <= {str}:
        return text
    if not isinstance(text, Mapping) or not all(isinstance(part, str) for part in (*text, *text.values())):
        raise TextError(f"a text must be str or fields of str, not {type(text).__name__}")
    return text


def _find_title(text: Text) -> str:
    return text.partition("\n")[0] if isinstance(text, str) else text.get("title", "")


def _call_function(function: Callable[[str], Iterable[str]], texts: Sequence[str]) -> Tokens:
    """Return the features from a user's function as tokens without positions."""
    features = [_call_for_text(function, text) for text in texts]
    encoded = encode([feature for row in features for feature in row])
    stops = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    documents = np.cumsum([len(row) for row in features], dtype=np.int64)
    letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return Tokens(letters, stops, documents=documents)


def _call_for_text(function: Callable[[str], Iterable[str]], text: str) -> list[str]:
    result: Any = function(text)
    features = list(result) if isinstance(result, Iterable) and not isinstance(result, str) else [result]
    if isinstance(result, str) or not all(isinstance(feature, str) and feature for feature in features):
        problem = f"must return strings that are not empty, and returned {type(result).__name__}"
        raise TextError(f"the analyser {_name_function(function)} {problem}")
    return [feature for feature in features if feature != CONSTANT]
