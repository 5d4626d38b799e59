"""Reuters-21578 for the benchmarks: texts, titles first, and topics of ModApte's documents."""

from thresher.datasets.reader import read_documents


def documents(part: str) -> tuple[list[str], list[list[str]]]:
    """Return the texts and topics of the "train" or "test" documents."""
    read = list(read_documents(f"reuters21578:modapte:{part}"))
    return [document.text for document in read], [list(document.categories) for document in read]
