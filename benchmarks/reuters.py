"""Reuters-21578 for the benchmarks: text and topics of ModApte's documents, from $THRESHER_DATA/reuters21578.tar.xz."""

import os
import re
import tarfile
from html import unescape
from pathlib import Path


def documents(split: str) -> tuple[list[str], list[list[str]]]:
    """Return the texts, titles first, and the topics of the "TRAIN" or "TEST" documents, in time order."""
    texts, topics = [], []
    with tarfile.open(Path(os.environ["THRESHER_DATA"]) / "reuters21578.tar.xz") as tar:
        for member in sorted((m for m in tar if m.name.endswith(".sgm")), key=lambda m: m.name):
            stream = tar.extractfile(member)
            assert stream is not None
            for document in stream.read().decode("latin-1").split("</REUTERS>")[:-1]:
                if f'TOPICS="YES" LEWISSPLIT="{split}"' in document:
                    topics.append(re.findall("<D>(.*?)</D>", document.split("</TOPICS>")[0]))
                    texts.append(_text(document))
    return texts, topics


def _text(document: str) -> str:
    parts = [re.search(f"<{tag}>(.*?)</{tag}>", document, re.S) for tag in ("TITLE", "BODY")]
    if not any(parts):
        parts = [re.search(r"<TEXT.*?>(.*)</TEXT>", document, re.S)]
    return unescape("\n".join(part[1] for part in parts if part))
