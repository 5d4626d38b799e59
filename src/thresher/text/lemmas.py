"""Lemmatization, once per distinct word: the paper's English features, and other languages."""

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from threading import local
from typing import Any

import numpy as np

from thresher.errors import MissingPackageError, ParameterError
from thresher.kernels.tokenizer import Tokens
from thresher.text.token_features import replace_names
from thresher.text.vocabulary import Vocabulary

_PARTS_OF_SPEECH = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}
MAX_REMEMBERED = 200_000


_LEMMAS = re.compile(r"\blemmas(?::(?P<language>[a-z]{2,3}))?\b|\bnouns-and-verbs\b")


def list_lemmatizers(analyser: str) -> str:
    """Return the packages that the analyser takes lemmas from, with their installed versions; "" if it takes none.

    Other versions may have other lemmas, so a model only works with the ones that it was trained with.
    """
    names = re.sub(r"\([^)]*\)", "", analyser)  # without functions of the user
    languages = {match["language"] or "en" for match in _LEMMAS.finditer(names)}
    packages = (["lemminflect", "textblob"] if "en" in languages else []) + ["simplemma"] * bool(languages - {"en"})
    return ", ".join(f"{package} {match}" for package in packages if (match := _find_version(package)))


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


class WordMap:
    """A function of words that is called once per distinct word; an empty result drops the word.

    The cache is bounded: after MAX_REMEMBERED words it starts empty again. Each thread has its own.
    """

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function
        self._local = local()

    def __reduce__(self) -> tuple[Any, ...]:
        return WordMap, (self._function,)

    def __call__(self, tokens: Tokens) -> Tokens:
        """Return the tokens with each word replaced by the function's result."""
        own = self._local
        if not hasattr(own, "seen") or own.seen.count > MAX_REMEMBERED:
            own.seen, own.answers = Vocabulary(), []
        numbers = own.seen.look_up(tokens)
        if own.seen.count > len(own.answers):
            own.answers += [self._function(word).encode() for word in own.seen.names[len(own.answers) :]]
        letters = np.frombuffer(b"".join(own.answers), dtype=np.uint8)
        return replace_names(
            tokens, numbers, letters, np.cumsum([len(answer) for answer in own.answers], dtype=np.int64)
        )


@cache
def lemmatizer(language: str) -> Callable[[str], str]:
    """Return a function from a word to its lemma: by part of speech for English, with simplemma for other languages."""
    try:
        if language == "en":
            return english_lemma
        from simplemma import lemmatize

        lemmatize("word", lang=language)
    except ImportError:
        raise MissingPackageError("lemmas need more packages", hint="pip install 'thresher-text[lemmas]'") from None
    except ValueError:
        hint = "simplemma does not know the language"
        raise ParameterError.of("analyser", f"lemmas:{language}", hint, allowed="de, fr, ...") from None
    return partial(_lemma, language)


def english_lemma(word: str) -> str:
    """Return the lemma of an English word.

    >>> english_lemma("prices")
    'price'
    """
    return _english(word)[0]


def _lemma(language: str, word: str) -> str:
    from simplemma import lemmatize

    return str(lemmatize(word, lang=language)).lower()


def noun_or_verb(word: str) -> str:
    """Return the lemma of an English noun or verb, or else an empty string (the paper's features, section 3.2).

    >>> noun_or_verb("prices"), noun_or_verb("rose"), noun_or_verb("sharply")
    ('price', 'rise', '')
    """
    lemma, part = _english(word)
    return lemma if part in ("NOUN", "VERB") else ""


def _english(word: str) -> tuple[str, str]:
    """Return the lemma and part of speech of an English word, tagged by itself."""
    tag, lemmas_of = _english_tools()
    tagged = tag(word)
    part = _PARTS_OF_SPEECH.get(tagged[0][1][:1], "") if tagged else ""
    lemmas = lemmas_of(word, upos=part) if part else ()
    return (lemmas[0].lower() if lemmas and lemmas[0] else word), part


@cache
def _english_tools() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the functions that tag and lemmatize, with the tagger's lexicon loaded."""
    try:
        from lemminflect import getLemma
        from textblob.en import tag
    except ImportError:
        raise MissingPackageError("lemmas need more packages", hint="pip install 'thresher-text[lemmas]'") from None
    with warnings.catch_warnings():  # textblob leaves its lexicon file to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        tag("word")
    return tag, getLemma
