"""From a large model's labels to a small model: keep what its answers agree on, audit it, train, measure, and weigh it.

    python examples/distilling.py [ANSWERS.jsonl]

The file has a line for each message: its text, and for each label the share of three answers that gave it. The one
that comes with this example was made by tools/make_distilling_labels.py: no large model was asked. Its answers are the
true categories with mistakes drawn in, so that there is a truth to measure against. With a file of your own, nobody
has that truth: look at the findings of the audit, and label a few hundred messages by hand to measure on.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from thresher import Categorizer
from thresher.audit import Finding, audit
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.evaluation import evaluate

ANSWERS = Path(__file__).parent / "data" / "answers.jsonl"
AGREED = 0.5  # a label is kept that more than half of the answers gave
LOOKED_AT = 40  # findings of the audit that someone looks at: one for every ten messages
SECONDS_A_CALL = 1.0  # how long a large model takes for a message: put in what yours takes
SIZE = "1MB"


def main(path: Path = ANSWERS) -> None:
    """Train on ever cleaner labels, measure each model, then make the last one small and time it."""
    truth = {document.id: document.categories for document in read_documents("sample:train")}
    test = list(read_documents("sample:test"))
    said, agreed = labelled(path, least=0.0), labelled(path, least=AGREED)
    print(f"{len(said)} messages with a large model's labels, three answers each, and {len(test)} to measure on.\n")
    print(f"{'trained on':42}  labels right  F1 on the test messages (where chance puts it)")
    trained("all that any answer says", said, truth, test)
    trained("what most answers agree on", agreed, truth, test)
    findings = audit(agreed).findings[:LOOKED_AT]
    trained(f"the same, the audit's first {LOOKED_AT} taken", mended(agreed, findings), truth, test)
    model = trained(f"the same, a person decides those {LOOKED_AT}", decided(agreed, findings, truth), truth, test)
    trained("the truth, for all messages by hand", decided(agreed, agreed, truth), truth, test)
    print(
        f"\nWith {len(test)} messages to measure on, neighbouring rows may differ by chance; the first and last do not."
    )
    show_findings(findings, truth)
    show_cost(model, test)


def labelled(path: Path, least: float) -> list[Document]:
    """Return the messages with the labels that more than a share of the answers gave."""
    found = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Document(entry["text"], tuple(name for name, share in entry["labels"].items() if share > least), entry["id"])
        for entry in found
    ]


def trained(
    name: str, documents: Sequence[Document], truth: dict[str, tuple[str, ...]], test: Sequence[Document]
) -> Categorizer:
    """Train on documents; print how many of their labels are right, and how well the model does on others."""
    model = Categorizer().fit(
        [document.text for document in documents], [document.categories for document in documents]
    )
    given = sum(len(document.categories) for document in documents)
    right = sum(len(set(document.categories) & set(truth.get(document.id, ()))) for document in documents)
    evaluation = evaluate(model, test)
    f1, chance = evaluation.counts().micro().f1, evaluation.intervals()["micro_f1"]
    print(
        f"{name:42}  {100 * right / given:10.0f} %  {100 * f1:.1f}  ({100 * chance.low:.0f} to {100 * chance.high:.0f})"
    )
    return model


def mended(documents: Sequence[Document], findings: Sequence[Finding]) -> list[Document]:
    """Return the documents with the findings of an audit taken at their word."""
    labels = {document.id: set(document.categories) for document in documents}
    for finding in findings:
        if finding.kind == "missing":
            labels[finding.id].add(finding.category)
        else:
            labels[finding.id].discard(finding.category)
    return [document._replace(categories=tuple(sorted(labels[document.id]))) for document in documents]


def decided(
    documents: Sequence[Document], doubtful: Sequence[Finding | Document], truth: dict[str, tuple[str, ...]]
) -> list[Document]:
    """Return the documents as they are after a person has read the doubtful ones."""
    read = {one.id for one in doubtful}
    return [
        document._replace(categories=truth[document.id]) if document.id in read else document for document in documents
    ]


def show_findings(findings: Sequence[Finding], truth: dict[str, tuple[str, ...]]) -> None:
    """Print what the audit doubts most, and whether it is right to."""
    count = sum((finding.category in truth[finding.id]) == (finding.kind == "missing") for finding in findings)
    print(
        f"\nThe audit knows no truth either: of its first {len(findings)} findings {count} are right. Some of them:\n"
    )
    for finding in findings[:5]:
        words = ", ".join(word for word, _ in finding.words[:4])
        right = ", ".join(truth[finding.id]) or "none"
        print(f"  {finding.id}: {finding.category} is {finding.kind} (words: {words}); in truth {right}")


def show_cost(model: Categorizer, test: Sequence[Document]) -> None:
    """Print how small the model can be made, and how long it takes beside a large one."""
    cost = model.compress(SIZE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "distilled.thresher"
        model.save(path)
        size = path.stat().st_size
    f1 = evaluate(model, test).counts().micro().f1
    print(f"\nPressed into {size / 1000:.0f} kB ({cost.features:,} features), it has an F1 of {100 * f1:.1f}.")
    texts = [document.text for document in test] * 20
    model.predict(texts)
    start = time.perf_counter()
    model.predict(texts)
    seconds = time.perf_counter() - start
    hours = len(texts) * SECONDS_A_CALL / 3600
    print(f"{len(texts):,} messages take {seconds:.2f} s here, {len(texts) / seconds:,.0f} a second.")
    print(
        f"A large model, at {SECONDS_A_CALL:g} s a message (an assumption: put in your own), takes {hours:.1f} hours."
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
