"""Detect that a model that learns does worse on the held-out documents than before."""

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thresher.datasets.document import Document
from thresher.evaluation import Evaluation
from thresher.journal.journal import Journal
from thresher.metrics import Ints
from thresher.support import strict_json
from thresher.web.quality import macro_f1

_FACT = "watched"  # name of the fact in the journal
ALARM_WINDOW = 200  # within this number of corrections, the macro F1 may fall by at most MAX_DROP
MAX_DROP = 0.02


class Decisions(NamedTuple):
    """The decisions of a model on all held-out documents at a position of its journal, and the truth, bit-packed."""

    position: int
    categories: int
    packed: bytes

    @classmethod
    def from_evaluation(cls, position: int, evaluation: Evaluation) -> "Decisions":
        """Pack the decisions of an evaluation."""
        bits = np.packbits(np.stack([evaluation.truth, evaluation.accepted]))
        return cls(position, len(evaluation.categories), zlib.compress(bits.tobytes(), 1))

    def macro_f1(self, documents: int, left: Ints) -> float:
        """Return the macro F1 on those of the `documents` that are `left`."""
        cells = 2 * documents * self.categories
        bits = np.frombuffer(zlib.decompress(self.packed), dtype=np.uint8)
        both = np.unpackbits(bits, count=cells).reshape(2, documents, self.categories).astype(np.bool_)
        return macro_f1(both[0][left], both[1][left])

    def is_valid_for(self, documents: int) -> bool:
        """Return whether these are undamaged decisions on this number of `documents`."""
        size = -(-2 * documents * self.categories // 8)
        try:
            return len(zlib.decompressobj().decompress(self.packed, size + 1)) == size
        except (zlib.error, ValueError, OverflowError):
            return False


class PastDecisions:
    """The past decisions of a model while it learned; one thread adds to them, and others may read.

    All decisions cover all held-out documents. F1 now and F1 before are thus always compared on the same documents:
    those not taught so far. The journal saves them for a restart.

    Parameters
    ----------
    holdout : sequence of Document
        The held-out documents. Saved decisions on other documents are ignored.
    journal : Journal
        Saves the decisions.
    """

    def __init__(self, holdout: Sequence[Document], journal: Journal) -> None:
        self._documents = len(holdout)
        self._holdout = hashlib.sha256(json.dumps([(one.content, one.categories) for one in holdout]).encode())
        self._decisions = self._saved = self._read(journal.facts.get(_FACT))
        self._best: tuple[tuple[Decisions, ...], bytes, float] = ((), b"", 0.0)  # the last result, with its inputs

    def add(self, position: int, evaluation: Evaluation) -> None:
        """Add the decisions at a position, and drop those that no alarm needs any longer."""
        self._decisions = (*self._recent(position), Decisions.from_evaluation(position, evaluation))

    def last_position(self) -> int | None:
        """Return the position of the last decisions, or None if there are no decisions."""
        return self._decisions[-1].position if self._decisions else None

    def best_macro_f1(self, position: int, left: Ints) -> float:
        """Return the best macro F1 that counts at a position, on the documents that are `left`; 0 without a past."""
        recent, documents = self._recent(position), left.tobytes()
        known, known_documents, best = self._best  # read and replaced as a whole, so threads need no lock
        if (known, known_documents) != (recent, documents):
            best = max((one.macro_f1(self._documents, left) for one in recent), default=0.0)
            self._best = recent, documents, best
        return best

    def save(self, journal: Journal) -> None:
        """Write new decisions to the journal."""
        decisions = self._decisions
        if decisions is not self._saved:
            rows = [[one.position, one.categories, base64.b64encode(one.packed).decode()] for one in decisions]
            journal.facts.set(_FACT, json.dumps({"holdout": self._holdout.hexdigest(), "decisions": rows}))
            self._saved = decisions

    def _read(self, saved: str | None) -> tuple[Decisions, ...]:
        """Return the saved decisions; none if they are for other documents or are damaged."""
        try:
            facts = strict_json.parse(saved or "{}")
            if facts["holdout"] != self._holdout.hexdigest():
                return ()
            decisions = tuple(Decisions(int(a), int(b), base64.b64decode(c)) for a, b, c in facts["decisions"])
        except (ValueError, KeyError, TypeError, OverflowError):
            return ()
        return decisions if all(one.is_valid_for(self._documents) for one in decisions) else ()

    def _recent(self, position: int) -> tuple[Decisions, ...]:
        """Return the decisions within the last ALARM_WINDOW corrections, and the last ones before them."""
        first = sum(one.position < position - ALARM_WINDOW for one in self._decisions)
        return self._decisions[max(first - 1, 0) :]
