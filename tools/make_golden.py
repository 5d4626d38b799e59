"""Write a journal of this version with records of every kind, for `tests/golden`; tests read it for ever after."""

import json
import sys
from pathlib import Path

from thresher import Categorizer
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.schema import VERSION

ASKED = ["tin and wheat", "a swarm", "gas"]


def make(folder: Path) -> None:
    """Teach a small model, and keep its journal and what became of it."""
    folder.mkdir(parents=True)
    path = folder / "desk.thresher"
    texts = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat", "gold mine", "silver and gold"] * 5
    names = ["energy", "energy", "grain", "grain", "metal", "metal"] * 5
    Categorizer(min_count=1).fit(texts, names).save(path)
    with JournaledModel(path, new=True) as desk:
        desk.correct("a", "tin mine", accept=["metal"], user="ada")
        desk.correct("b", {"title": "Größe", "body": "the size of a field"}, categories=["energy", "grain"], user="bob")
        mistaken = desk.correct("c", "a mistake", accept=["energy"]).record.seq
        desk.change_categories("d", "new", ["bees"])
        desk.correct("e", "a swarm of bees", accept=["bees"], document="7")
        desk.change_categories("f", "rename", ["bees"], into="insects")
        desk.change_categories("g", "threshold", ["grain"], threshold=0.25)
        desk.undo("h", [mistaken], user="ada")
        private = desk.correct("i", "a private matter of wheat", accept=["grain"]).record.seq
        desk.forget_text(private)
        desk.forget_correction(desk.correct("k", "a secret", accept=["grain"]).record.seq)
        desk.correct("j", "a swarm at night", categories=["insects"])
        records = list(desk.journal.log.read())
        expected = {
            "records": len(records),
            "undone": {str(record.seq): record.undone_by for record in records if record.undone_by},
            "digest": desk.model.digest(),
            "predictions": desk.model.predict(ASKED),
        }
    for snapshot in sorted(journal_folder(path).glob("snapshot-*.thresher"))[1:]:
        snapshot.unlink()  # all of it is to be replayed
    for left in ("lock", "journal.sqlite3-wal"):
        (journal_folder(path) / left).unlink(missing_ok=True)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1] if len(sys.argv) > 1 else f"tests/golden/v0.2/journal-{VERSION}"))
