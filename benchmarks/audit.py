"""Measure how many planted label errors the audit finds in Reuters' training documents and in the sample corpus.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/audit.py

FOLDER holds reuters21578.tar.xz; without it only the sample corpus is audited. 5 % of the documents,
drawn among those with a category, get an error. "replaced": one of the document's categories gives way to another,
drawn as often as it occurs. "rare": the same, but all categories are drawn equally often. "mixed": a third each are
replaced, only removed or only added. A finding is right where its pair of document and category was planted, and its
kind fits. Real errors among the others count as wrong, so that the figures are lower bounds. Where fewer pairs than
findings were planted, as in the small corpus, the precision cannot reach 1.
"""

import os
import random
import time
from collections.abc import Iterable
from typing import Any

from thresher.audit import Audit, Finding, audit
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents

SHARE = 0.05
SEEDS = range(100, 105)  # none of those that the method was chosen with
SHORT = {"analyser": "words+chars:4-5", "min_count": 2, "folds": 20}  # for few and short texts
PLANS = {"replaced": ("replace",), "rare": ("replace",), "mixed": ("replace", "remove", "add")}
FEW = 1000
FIRST = (20, 50, 100, 200, 400)

Planted = dict[tuple[int, str], str]


def plant(documents: list[Document], plan: str, seed: int) -> tuple[list[Document], Planted]:
    """Return the documents with errors, and the kind of finding that each wrong pair should be."""
    draw = random.Random(seed)
    names = [name for document in documents for name in document.categories]
    pool = sorted(set(names)) if plan == "rare" else names
    labelled = [number for number, document in enumerate(documents) if document.categories]
    changed, planted = list(documents), Planted()
    for number in draw.sample(labelled, round(SHARE * len(documents))):
        before, how = documents[number].categories, draw.choice(PLANS[plan])
        gone = draw.choice(before) if how != "add" else None
        come = draw.choice([name for name in pool if name not in before]) if how != "remove" else None
        planted |= {(number, name): kind for name, kind in ((gone, "missing"), (come, "wrong")) if name is not None}
        after = [name for name in (*before, come) if name is not None and name != gone]
        changed[number] = documents[number]._replace(categories=tuple(after))
    return changed, planted


def mark_planted(findings: Iterable[Finding], planted: Planted) -> list[bool]:
    """Return for each finding whether it was planted."""
    return [planted.get((finding.number, finding.category)) == finding.kind for finding in findings]


def show(name: str, documents: list[Document], settings: dict[str, Any]) -> None:
    """Print the precision of the first findings, of every plan the mean over the seeds."""
    n_categories = len({category for document in documents for category in document.categories})
    print(f"{name}: {len(documents)} documents, {n_categories} categories; settings {settings or 'as usual'}")
    print(
        f"{'errors':10}{'planted':>9}" + "".join(f"{'first ' + str(count):>11}" for count in FIRST) + f"{'seconds':>9}"
    )
    for plan in PLANS:
        hits, sizes, seconds = [], [], []
        for seed in SEEDS:
            changed, planted = plant(documents, plan, seed)
            start = time.perf_counter()
            found = audit(changed, **settings)
            seconds.append(time.perf_counter() - start)
            hits.append(mark_planted(found.findings, planted))
            sizes.append(len(planted))
        row = [sum(sum(hit[:count]) for hit in hits) / (count * len(SEEDS)) for count in FIRST]
        cells = "".join(f"{value:11.3f}" for value in row)
        print(f"{plan:10}{sum(sizes) / len(sizes):9.0f}{cells}{min(seconds):9.1f}", flush=True)


def show_real(result: Audit, documents: list[Document], count: int = 10) -> None:
    """Print the first findings in the collection as it is, for a person to judge."""
    for finding in result.findings[:count]:
        document = documents[finding.number]
        words = ", ".join(word for word, _ in finding.words)
        print(f"  {finding.kind} {finding.category} (given: {', '.join(document.categories) or 'none'}; {words})")
        print(f"    {' '.join(document.text.split())[:150]}")


def main() -> None:
    """Audit both collections, with errors and as they are."""
    collections = {"the project's own corpus": [*read_documents("sample:train"), *read_documents("sample:test")]}
    if "THRESHER_DATA" in os.environ:
        collections["Reuters-21578, ModApte, training"] = list(read_documents("reuters21578:modapte:train"))
    for name, documents in collections.items():
        for settings in ({}, SHORT) if len(documents) < FEW else ({},):
            show(name, documents, settings)
        result = audit(documents)
        groups = [group.categories_differ for group in result.duplicates]
        print(
            f"as it is: {len(groups)} groups of near-duplicates, in {sum(groups)} the categories differ; first findings"
        )
        show_real(result, documents)
        print()


if __name__ == "__main__":
    main()
