"""Highlight the words of a text by their contributions to a score, for the worst errors of the report."""

import re
from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

from thresher.model.explanations import Word
from thresher.report.filters import format_signed

MAX_EXCERPT = 700
SHADES = 4
MIN_SHARE = 0.15  # of the greatest contribution; weaker pieces stay plain
MAX_NAMED = 4
_BLOCK = re.compile(r".{1,150}\S{0,40}\s?", re.S)


class Piece(NamedTuple):
    """A piece of text; `shade` is from -SHADES (against) over 0 (plain) to SHADES (for)."""

    text: str
    shade: int = 0
    title: str = ""


class Segment(NamedTuple):
    """A range of a text from `start` to `end`, with the words that cover it; features that overlap give several."""

    start: int
    end: int
    words: list[Word]


def make_excerpt(text: str, words: list[Word], longest: int = MAX_EXCERPT) -> list[Piece]:
    """Return a text in shaded pieces; a long one is cut to its beginning and the parts with the strongest words.

    >>> make_excerpt("oil rose", [Word("oil", 0.5, 1.0, 0.5, [(0, 3)], 0)])
    [Piece(text='oil', shade=4, title='oil +0.50'), Piece(text=' rose', shade=0, title='')]
    """
    marked = [word for word in words if word.positions and word.contribution]
    blocks = [match.span() for match in _BLOCK.finditer(text)]
    segments = _cut_segments(text, marked, [start for start, _ in blocks])
    by_block: list[list[Segment]] = [[] for _ in blocks]
    starts = [start for start, _ in blocks]
    for segment in segments:
        by_block[bisect_left(starts, segment.start + 1) - 1].append(segment)
    shown = _choose_blocks(blocks, by_block, longest)
    scale = max((abs(word.contribution) for word in marked), default=0.0)
    pieces: list[Piece] = []
    for number, previous in zip(shown, [-1, *shown], strict=False):
        pieces += [Piece(" … ")] * (number > previous + 1)
        pieces += [_shade(text, segment, scale) for segment in by_block[number]]
    if shown and shown[-1] < len(blocks) - 1:
        pieces.append(Piece(" …"))
    return _join_plain(pieces)


def _cut_segments(text: str, words: list[Word], borders: list[int]) -> list[Segment]:
    """Return a text cut at the beginnings and ends of words and at the given borders."""
    cuts = sorted({len(text), *borders}.union(*(place for word in words for place in word.positions)))
    over: list[list[Word]] = [[] for _ in cuts]
    for word in words:
        for start, end in dict.fromkeys(word.positions):
            for i in range(bisect_left(cuts, start), bisect_left(cuts, end)):
                over[i].append(word)
    return [Segment(start, end, over[i]) for i, (start, end) in enumerate(pairwise(cuts))]


def _choose_blocks(blocks: list[tuple[int, int]], by_block: list[list[Segment]], longest: int) -> list[int]:
    """Return the indices of the blocks to show: all of a short text, or the first and those that add most."""
    if not blocks or blocks[-1][1] <= longest:
        return list(range(len(blocks)))
    contributions = [
        {word.number: abs(word.contribution) for part in parts for word in part.words} for parts in by_block
    ]
    chosen, shown, length = {0}, set(contributions[0]), blocks[0][1]
    while length < longest and len(chosen) < len(blocks):
        gains = [
            -1.0 if i in chosen else sum(gain for number, gain in new.items() if number not in shown)
            for i, new in enumerate(contributions)
        ]
        best = gains.index(max(gains))
        chosen.add(best)
        shown |= contributions[best].keys()
        length += blocks[best][1] - blocks[best][0]
    return sorted(chosen)


def _shade(text: str, segment: Segment, scale: float) -> Piece:
    part, total = text[segment.start : segment.end], sum(word.contribution for word in segment.words)
    if abs(total) < MIN_SHARE * scale or total == 0:
        return Piece(part)
    strength = min(SHADES, 1 + int(SHADES * abs(total) / scale))
    named = ", ".join(f"{word.name} {format_signed(word.contribution)}" for word in segment.words[:MAX_NAMED])
    more = f" and {len(segment.words) - MAX_NAMED} more" if len(segment.words) > MAX_NAMED else ""
    return Piece(part, strength if total > 0 else -strength, named + more)


def _join_plain(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with adjacent plain ones joined, as a page needs no markup between them."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and piece.shade == joined[-1].shade == 0:
            joined[-1] = Piece(joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined
