"""A small model with a journal, corrections of every kind, and ways to look at and damage what was kept."""

import sqlite3
from pathlib import Path

from thresher import Categorizer
from thresher.journal.journaled_model import JournaledModel, journal_folder

TEXTS = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat", "gold mine", "silver and gold"] * 5
CATEGORIES = ["energy", "energy", "grain", "grain", "metal", "metal"] * 5
KINDS = ["oil", "gas", "wheat", "corn", "gold", "silver", "tin", "price"]
WORDS = [*KINDS, "market", "rose", "fell", "new", "mine", "field", "harvest", "export"]


def new_small_model(folder: Path) -> Path:
    """Write a small model."""
    path = folder / "desk.thresher"
    Categorizer(min_count=1).fit(TEXTS, CATEGORIES).save(path)
    return path


def teach(journaled_model: JournaledModel, count: int, first: int = 0) -> None:
    """Teach corrections of every kind, new words and a new category among them."""
    for i in range(first, first + count):
        text = f"{WORDS[i % 16]} {WORDS[i * 7 % 16]} word{i % 9} {WORDS[i * 5 % 16]}"
        if i % 3 == 0:
            journaled_model.correct(
                f"c{i}", {"title": text, "body": "and more"}, categories=["metal", "grain"][i % 2 :], user="ada"
            )
        elif i % 3 == 1:
            journaled_model.correct(f"c{i}", text, accept=["tin" if i % 2 else "energy"], user="bob")
        else:
            journaled_model.correct(f"c{i}", text, accept=["grain"], reject=["metal"], user="ada")


def positions(path: Path) -> list[int]:
    """Return after how many records there are snapshots."""
    return sorted(int(file.stem.partition("-")[2]) for file in journal_folder(path).glob("snapshot-*.thresher"))


def execute(path: Path, *statements: str) -> None:
    """Change a journal that is not open."""
    connection = sqlite3.connect(journal_folder(path) / "journal.sqlite3")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def interrupt(*_: object, **more: object) -> None:
    """Be what is broken off by Ctrl-C."""
    raise KeyboardInterrupt
