"""Words to lemmas, once for each distinct word: the paper's features, and other languages'; analysers call it."""

import warnings
from collections.abc import Callable
from functools import cache, partial
from threading import local
from typing import Any

import numpy as np

from thresher.errors import MissingPackageError, ParameterError
from thresher.kernels.tokens import Tokens
from thresher.text.derived import replaced
from thresher.text.vocabulary import Vocabulary

_PARTS_OF_SPEECH = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}
MOST_REMEMBERED = 200_000
_NEEDED = "lemmas need more packages (pip install 'thresher[lemmas]')"


class WordMap:
    """A function of words that is asked once for each distinct word; an empty answer drops the word.

    What it remembers is bounded: past so many words it starts afresh. Each thread remembers by itself.
    """

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function
        self._own = local()

    def __reduce__(self) -> tuple[Any, ...]:
        return WordMap, (self._function,)

    def __call__(self, tokens: Tokens) -> Tokens:
        """Return the tokens with each word replaced by the function's answer."""
        own = self._own
        if not hasattr(own, "seen") or own.seen.count > MOST_REMEMBERED:
            own.seen, own.answers = Vocabulary(), []
        numbers = own.seen.numbers(tokens)
        if own.seen.count > len(own.answers):
            own.answers += [self._function(word).encode() for word in own.seen.names[len(own.answers) :]]
        letters = np.frombuffer(b"".join(own.answers), dtype=np.uint8)
        return replaced(tokens, numbers, letters, np.cumsum([len(answer) for answer in own.answers], dtype=np.int64))


@cache
def lemmatizer(language: str) -> Callable[[str], str]:
    """Return the function from a word to its lemma; English by part of speech, other languages with simplemma."""
    try:
        if language == "en":
            return english_lemma
        from simplemma import lemmatize

        lemmatize("word", lang=language)
    except ImportError:
        raise MissingPackageError(_NEEDED) from None
    except ValueError:
        raise ParameterError(
            f"analyser='lemmas:{language}': the language is not known to simplemma (allowed: de, fr, ...)"
        ) from None
    return partial(_lemma, language)


def english_lemma(word: str) -> str:
    """Return an English word's lemma.

    >>> english_lemma("prices")
    'price'
    """
    return _english(word)[0]


def _lemma(language: str, word: str) -> str:
    from simplemma import lemmatize

    return str(lemmatize(word, lang=language)).lower()


def noun_or_verb(word: str) -> str:
    """Return an English word's lemma if it is a noun or a verb, else nothing (the paper's features, section 3.2).

    >>> noun_or_verb("prices"), noun_or_verb("rose"), noun_or_verb("sharply")
    ('price', 'rise', '')
    """
    lemma, part = _english(word)
    return lemma if part in ("NOUN", "VERB") else ""


def _english(word: str) -> tuple[str, str]:
    """Return an English word's lemma and part of speech, each word tagged by itself."""
    tag, lemmas_of = _english_tools()
    tagged = tag(word)
    part = _PARTS_OF_SPEECH.get(tagged[0][1][:1], "") if tagged else ""
    lemmas = lemmas_of(word, upos=part) if part else ()
    return (lemmas[0].lower() if lemmas and lemmas[0] else word), part


@cache
def _english_tools() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the functions that tag and lemmatize, with the tagger's lexicon read."""
    try:
        from lemminflect import getLemma
        from textblob.en import tag
    except ImportError:
        raise MissingPackageError(_NEEDED) from None
    with warnings.catch_warnings():  # textblob leaves its lexicon's file to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        tag("word")
    return tag, getLemma
