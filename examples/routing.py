"""Messages as they come, sent to one desk each: with corrections, with a change of the world midway, and an undo.

    python examples/routing.py

A model learns the first months of the project's own corpus. The rest comes message by message. Half way through, the
city lends scooters, which nobody had a category for, and calls some things by other names: those messages are made up
here. One copy of the model stays as it was. The other is corrected where it sent a message to the wrong desk; each
correction is in the journal before it is learned.
"""

import random
import re
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from thresher import Categorizer
from thresher.datasets.reader import read_documents
from thresher.journal.journaled_model import JournaledModel

HISTORY, WINDOW, SCOOTERS, SEED = 200, 55, 40, 1
NEW_NAMES = {
    "bin": "caddy", "bins": "caddies", "tram": "citylink", "trams": "citylinks", "bus": "shuttle", "buses": "shuttles",
    "council tax": "city levy", "lamp": "beacon", "lamps": "beacons", "light": "beacon", "lights": "beacons",
}  # fmt: skip
PLACES = (
    "Mill Lane", "the bridge", "Foundry Row", "the station", "Castle Green", "the Harbour Steps", "Beech Avenue",
    "the market",
)  # fmt: skip
TROUBLES = (
    "A scooter lies across the pavement at {place} and nobody comes for it.",
    "Tried to hire one of the scooters at {place}, the app took my money and the thing never unlocked!",
    "Two lads on one scooter nearly ran me over at {place}. Are they allowed on the pavement?",
    "scooter battery flat again, left mine near {place}, still being charged by the minute",
    "Six hire scooters heaped up at {place} like firewood. The company does not answer.",
    "Where may I ride a hire scooter? The app says not beyond {place}, which makes no sense.",
)


class Message(NamedTuple):
    """A message, and the desks that may deal with it."""

    id: str
    text: str
    desks: tuple[str, ...]


def main() -> None:
    """Train on the past, run through the present twice, and take a trainee's corrections back."""
    past, present = messages()
    turn = len(present) // 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "desk.thresher"
        model = Categorizer().fit([message.text for message in past], [message.desks for message in past])
        model.save(path)
        stream = [*present[:turn], *changed(present[turn:])]
        print(f"Learned {len(past)} messages in {len(model.categories)} categories; {len(stream)} more come in.")
        before = [route(model, message) for message in stream]
        with JournaledModel(path) as desk:
            after = routed(desk, stream)
            show_windows(stream, before, after, turn)
            show_newcomer(stream, after)
            show_undo(desk, stream[-WINDOW:])


def messages() -> tuple[list[Message], list[Message]]:
    """Return the project's own corpus in the order of time, cut in two; messages for no desk are left out."""
    documents = [*read_documents("sample:train"), *read_documents("sample:test")]
    found = [Message(document.id, document.text, document.categories) for document in documents if document.categories]
    return found[:HISTORY], found[HISTORY:]


def changed(stream: list[Message]) -> list[Message]:
    """Return messages of a city that has scooters and calls some things by other names."""
    draw = random.Random(SEED)
    new = [
        Message(f"s{number}", draw.choice(TROUBLES).format(place=draw.choice(PLACES)), ("scooters",))
        for number in range(SCOOTERS)
    ]
    words = re.compile(rf"\b({'|'.join(NEW_NAMES)})\b", re.IGNORECASE)
    renamed = [message._replace(text=words.sub(lambda m: NEW_NAMES[m[0].lower()], message.text)) for message in stream]
    places = sorted(draw.sample(range(len(stream)), SCOOTERS), reverse=True)
    for place in places:
        renamed.insert(place, new.pop())
    return renamed


def route(model: Categorizer, message: Message) -> str:
    """Return the desk that a message goes to: that of its best category."""
    best = model.rank([message.text], top=1)[0]
    return best[0][0] if best else "nobody"


def routed(desk: JournaledModel, stream: list[Message]) -> list[str]:
    """Send each message on, and correct the model where a message came to the wrong desk."""
    sent = []
    for message in stream:
        sent.append(route(desk.model, message))
        if sent[-1] not in message.desks:
            desk.correct(f"correction of {message.id}", message.text, categories=message.desks, user="ada")
    return sent


def right(stream: list[Message], sent: list[str]) -> float:
    """Return the share of messages that came to a desk of theirs, in per cent."""
    return 100 * sum(desk in message.desks for message, desk in zip(stream, sent, strict=True)) / len(stream)


def show_windows(stream: list[Message], before: list[str], after: list[str], turn: int) -> None:
    """Print how many messages were sent to the right desk, one stretch of the stream after the other."""
    print("\nSent to the right desk, in per cent:\n")
    print(f"  {'messages':9}  {'never corrected':28}  {'corrected where wrong':28}")
    for start, end in windows(len(stream), turn):
        if start == turn:
            print("  -- the city lends scooters; bins are called caddies, lamps beacons, buses shuttles --")
        shares = [right(stream[start:end], sent[start:end]) for sent in (before, after)]
        bars = "  ".join(f"{share:3.0f} {'#' * round(share / 4):24}" for share in shares)
        print(f"  {start + 1:3} - {end:3}  {bars.rstrip()}")
    corrected = sum(desk not in message.desks for message, desk in zip(stream, after, strict=True))
    print(
        f"\n  in all     {right(stream, before):3.0f}{'':25}  {right(stream, after):3.0f}, with {corrected} corrections"
    )


def windows(length: int, turn: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of a stream, none of them across the turn."""
    for first, last in ((0, turn), (turn, length)):
        parts = round((last - first) / WINDOW)
        edges = [first + (last - first) * part // parts for part in range(parts + 1)]
        yield from pairwise(edges)


def show_newcomer(stream: list[Message], after: list[str]) -> None:
    """Print where the messages of the new category went, from the first on."""
    went = [desk for message, desk in zip(stream, after, strict=True) if message.desks == ("scooters",)]
    print(f"\nA category that nobody had foreseen. The first messages on scooters went to: {', '.join(went[:6])}.")
    learned = went[6:]
    print(f"Of the {len(learned)} that followed, {learned.count('scooters')} came to the desk for scooters.")


def show_undo(desk: JournaledModel, stream: list[Message]) -> None:
    """Let a trainee correct wrongly, and take that back."""
    digest = desk.model.digest()

    def share() -> float:
        return right(stream, [route(desk.model, message) for message in stream])

    before = share()
    mistaken = [
        desk.correct(f"first day, {message.id}", message.text, categories=["parks"], user="bob").record.seq
        for message in stream
    ]
    print(f"\nA trainee sends the last {len(stream)} messages all to parks. The model, which had learned to send")
    print(
        f"{before:.0f} % of them to the right desk, now does so with {share():.0f} %. His corrections are taken back:"
    )
    desk.undo("not again", mistaken, user="ada")
    same = "the same model as before, bit for bit" if desk.model.digest() == digest else "another model"
    print(f"{share():.0f} %, {same}.")


if __name__ == "__main__":
    main()
