"""The same corrections give the same model, bit for bit, however it comes back (P9, P10, P28).

Digests are compared: of a desk as it lives, after a new start, replayed from the first record and from every snapshot;
of a model that was saved and taken up again in the midst of learning, and one that was not; and after what a person
does who corrects, corrects again and takes it back.
"""

import random
from pathlib import Path

import pytest

from faults.harness import new_draw
from faults.ledger import content_of, copied, replayed_digest
from support.corpora import Corpus, made_up
from support.tiers import number_of
from thresher import Categorizer
from thresher.datasets.reader import read_documents
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.snapshots import restore_newest
from thresher.model.factories import LEARNERS

CORRECTIONS, SPLITS = number_of("THRESHER_CORRECTIONS", 5000, quick=300), 10


def teach_much(desk: JournaledModel) -> None:
    """Correct very often, with changes of the categories and something taken back in between."""
    for number in range(CORRECTIONS):
        desk.correct(f"a.{number}", **content_of(f"a.{number}"))
        if number % 700 == 300:
            desk.change_categories(f"new {number}", "new", [f"newer {number}"])
            desk.correct(f"seed {number}", f"newer words {number}", accept=[f"newer {number}"])
        elif number % 700 == 600:
            desk.change_categories(f"merge {number}", "merge", [f"newer {number - 300}", "ships"], into="ships")
            desk.change_categories(f"threshold {number}", "threshold", ["trade"], threshold=0.1 + number / 10**5)
        elif number % 1300 == 1200:
            desk.undo(f"undo {number}", [desk.position - 7, desk.position - 5])


def test_live_restarted_and_replayed_models_are_equal(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.MAX_SNAPSHOTS", 1000)
    with JournaledModel(model) as desk:
        teach_much(desk)
        digest = desk.model.digest()
    with JournaledModel(model) as again:
        assert again.model.digest() == digest
    assert replayed_digest(model) == digest
    names = sorted(path.name for path in journal_folder(model).glob("snapshot-*"))
    assert len(names) > CORRECTIONS // 1000
    for name in names[1:]:
        with copied(model) as copy:
            for snapshot in journal_folder(copy).glob("snapshot-*"):
                if snapshot.name not in (names[0], name):
                    snapshot.unlink()
            with JournaledModel(copy) as replayed:
                assert (replayed.model.digest(), replayed.remarks) == (digest, []), name


def sample() -> Corpus:
    documents = list(read_documents("sample:train"))[:60]
    return Corpus([str(document.content) for document in documents], [list(d.categories) for d in documents])


DATASETS = {"many": lambda: made_up(90, seed=3), "one": lambda: made_up(90, seed=4, single=True), "sample": sample}


@pytest.mark.parametrize("learner", sorted(LEARNERS))
@pytest.mark.parametrize("dataset", sorted(DATASETS))
def test_saving_and_resuming_changes_nothing(tmp_path: Path, learner: str, dataset: str) -> None:
    corpus, draw = DATASETS[dataset](), new_draw()
    for first in (0, 20):  # from nothing, and after training
        model = Categorizer(learner=learner, min_count=1, choose="nothing")
        if first:
            model.fit(*corpus.part(0, first))
        splits = {first + 1, *draw.sample(range(first + 1, len(corpus.texts)), SPLITS - 1)}
        for number in range(first, len(corpus.texts)):
            learn_one(model, corpus, number)
            if number + 1 in splits:
                model.save(tmp_path / f"{number + 1}")
        for split in splits:
            resumed = Categorizer.load(tmp_path / f"{split}")
            for number in range(split, len(corpus.texts)):
                learn_one(resumed, corpus, number)
            assert resumed.digest() == model.digest(), split


def learn_one(model: Categorizer, corpus: Corpus, number: int) -> None:
    """Learn a text with all its categories or, now and then, what is said of some of them."""
    text, names = corpus.texts[number], corpus.categories[number]
    others = [name for name in model.categories if name not in names]
    if number % 3 == 2 and names:
        model.learn(text, accept=names, reject=others[:1])
    else:
        model.partial_fit([text], [names])


def test_each_step_of_changed_corrections_moves_the_model_correctly(model: Path) -> None:
    draw = random.Random(28)
    for number in range(6):
        text, mine, other = f"crude oil {draw.random()} wheat harvest zyx{number}", "energy", "grain"
        with JournaledModel(model) as desk:
            before, digest = scores(desk, text), desk.model.digest()
            desk.correct(f"learn {number}", text, accept=[mine], reject=[other])
            learned, learned_digest = scores(desk, text), desk.model.digest()
            assert moved(before, learned, mine, other)
            desk.correct(f"learn {number}", text, accept=[mine], reject=[other])
            assert desk.model.digest() == learned_digest, "the same again changes nothing"
            desk.correct(f"relearn {number}", text, accept=[other], reject=[mine])
            assert moved(learned, scores(desk, text), other, mine)
            assert desk.model.digest() == replay(desk)
            desk.undo(f"undo {number}", [desk.position])
            assert (scores(desk, text), desk.model.digest()) == (learned, learned_digest)
            desk.undo(f"unlearn {number}", [desk.position - 2])
            assert (scores(desk, text), desk.model.digest()) == (before, digest)
            assert desk.model.digest() == replay(desk)
        assert replayed_digest(model) == digest


def scores(desk: JournaledModel, text: str) -> dict[str, float]:
    return dict(zip(desk.model.categories, desk.model.decision_function([text])[0].tolist(), strict=True))


def moved(before: dict[str, float], after: dict[str, float], up: str, down: str) -> bool:
    """Return whether one category gained and the other lost, at least one of them really."""
    gained, lost = after[up] - before[up], before[down] - after[down]
    return min(gained, lost) >= 0 and max(gained, lost) > 0


def replay(desk: JournaledModel) -> str:
    """Return the digest of what the records of a desk give from the first one on."""
    model, position = restore_newest(desk.journal, [], before=1)
    desk._replay(model, position)
    return model.digest()
