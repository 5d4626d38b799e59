"""Parse the SGML files of Reuters-21578 into documents; `reuters21578` and `datasets.reader` use it.

The parser makes one pass over the tags, in linear time for any input. It knows the tags of Reuters-21578 in any case,
and raises a DataError with file and line for anything that would lose or mix up documents. It skips a DTD and expands
no entities: only `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;` and decimal character references are replaced, and all
others stay unchanged.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from thresher.datasets.columns import check_categories
from thresher.datasets.document import Document
from thresher.errors import DataError, printable

LISTS = ("topics", "places", "people", "orgs", "exchanges", "companies")
TEXT_PARTS = ("title", "dateline", "body", "author")
MAX_ARTICLE = 4 << 20  # characters; the longest of Reuters-21578 has 14,000

_CHUNK = 1 << 18
_KEPT = (*TEXT_PARTS, "date", "text")
_LEAVES = frozenset({*TEXT_PARTS, "date", "unknown", "mknote"})
# No tag within a tag, so that the text after an unclosed `<` is scanned once and not again for each `<`.
_TAG = re.compile("<([!?/]?[A-Za-z-][A-Za-z0-9-]*+)([^<>]*+)>")
_ATTRIBUTE = re.compile(r"""(?<![\w-])([A-Za-z][\w-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'=]++))""")
_SUBSET_END = re.compile(r"\]\s*+>")
_REFERENCE = re.compile("&(?:#([0-9]{1,7})|(lt|gt|amp|quot|apos));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_END_MARK = re.compile(r"\s*+reuters?(?:\.\.\.)?(?:\^M)?", re.IGNORECASE)

Source = bytes | Iterable[bytes]
Token = tuple[int, str, str, str]  # line of a tag, text before it, its name with any slash, rest of the tag


def read_sgml(
    source: Source, name: str, *, seen: set[str] | None = None, encoding: str = "latin-1"
) -> Iterator[Document]:
    """Yield the documents of one file in order.

    `source` is bytes or an iterable of bytes, such as an open file. `name` appears in messages and in the `place` of
    each document. `seen` holds the NEWIDs of files read before; those of this file are added to it. `encoding` is the
    encoding of the file.

    The title and the body become fields and, joined by a newline, the text. A document with neither (TYPE="UNPROC")
    has the content of its TEXT element as text. Control characters become spaces, a title becomes one line, and a last
    line "Reuter" of the body is removed.

    >>> page = b'<REUTERS NEWID="1"><TOPICS><D>grain</D></TOPICS><TEXT><TITLE>WHEAT UP</TITLE></TEXT></REUTERS>'
    >>> [(found.id, found.text, found.categories) for found in read_sgml(page, "page.sgm")]
    [('1', 'WHEAT UP', ('grain',))]
    """
    seen = set() if seen is None else seen
    article: _Article | None = None
    for token in _after_doctype(_tokens(source, name, encoding), name):
        if article is None:
            article = _open_article(token, name)
        elif article.state(article, token, token[2].lower()):
            if article.newid in seen:
                shown = printable(article.newid[:50])
                raise article.error(f"NEWID {shown} occurs twice", "remove one of the two documents")
            seen.add(article.newid)
            yield article.document()
            article = None


def assemble_document(
    texts: Mapping[str, str], categories: Iterable[str], columns: Mapping[str, Any], place: str
) -> Document:
    """Return the document with these parts of text: title, dateline and body, or "text" if title and body are empty."""
    fields = {part: plain for part in ("title", "dateline", "body") if (plain := _clean(texts.get(part, ""), part))}
    parts = [fields[part] for part in ("title", "body") if part in fields]
    text = "\n".join(parts) if parts else _clean(texts.get("text", ""), "body")
    try:
        names = check_categories(list(dict.fromkeys(categories)))
    except DataError as error:
        raise error.at(place) from None
    return Document(text, names, columns["newid"], fields, columns, place)


# -- the tags of a file ------------------------------------------------------------------------------------------------


def _tokens(source: Source, name: str, encoding: str) -> Iterator[Token]:
    """Yield each tag with the text before it, and at the end an empty tag."""
    line, rest, decoder = 1, "", codecs.getincrementaldecoder(encoding)()
    for chunk in _chunks(source):
        try:
            rest += decoder.decode(chunk.removeprefix(codecs.BOM_UTF8) if line == 1 and not rest else chunk)
        except UnicodeDecodeError as error:
            line += rest.count("\n") + chunk.count(b"\n", 0, error.start)
            problem, hint = f"not {encoding}", "give the {encoding} of the file"
            raise DataError(problem, path=name, line=line, hint=hint) from None
        end = 0
        for match in _TAG.finditer(rest):
            text, (tag, attributes) = rest[end : match.start()], match.groups()
            line += text.count("\n")
            yield line, text, tag, attributes
            end = match.end()
            line += attributes.count("\n") if attributes else 0
        rest = rest[end:]
        if len(rest) > MAX_ARTICLE:
            problem = f"no tag in {MAX_ARTICLE:,} characters"
            raise DataError(problem, path=name, line=line, hint="is it SGML?")
    yield line + rest.count("\n"), rest, "", ""


def _chunks(source: Source) -> Iterator[bytes]:
    """Cut or join bytes into pieces of about 256 kB, since single lines would be slow."""
    if isinstance(source, bytes):
        yield from (source[start : start + _CHUNK] for start in range(0, len(source), _CHUNK))
        return
    pieces: list[bytes] = []
    size = 0
    for piece in source:
        pieces.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(pieces)
            pieces, size = [], 0
    yield b"".join(pieces)


def _after_doctype(tokens: Iterator[Token], name: str) -> Iterator[Token]:
    """Yield the tokens without the declarations in brackets of a DOCTYPE."""
    for line, text, tag, rest in tokens:
        if text.lstrip()[:9].lower() == "<!doctype":
            text, tag, rest = _skip_subset(tokens, name, line)
        yield line, text, tag, rest
        if tag.lower() == "reuters":
            break
    yield from tokens


def _skip_subset(tokens: Iterator[Token], name: str, line: int) -> tuple[str, str, str]:
    for _, text, tag, rest in tokens:
        end = _SUBSET_END.search(text)
        if end:
            return text[end.end() :], tag, rest
    raise DataError("the DOCTYPE is not closed", path=name, line=line, hint="end it with ]>")


def _open_article(token: Token, name: str) -> "_Article | None":
    """Return the article that a tag opens, or None for a declaration and for the end of the file."""
    line, text, tag, rest = token
    if not text.isspace() and text:
        raise _make_stray_error(token, name)
    if tag.lower() == "reuters":
        return _Article(name, line, rest)
    if tag and tag[0] not in "!?":
        problem, hint = f"<{tag}> outside of <REUTERS>", "remove it or open a document before it"
        raise DataError(problem, path=name, line=line, hint=hint)
    return None


def _make_stray_error(token: Token, name: str) -> DataError:
    line, text, *_ = token
    shown = " ".join(text.split())[:40]
    first = line - text.lstrip().count("\n")
    return DataError(f"stray text {shown!r}", path=name, line=first, hint="remove it or tag it")


# -- one article -------------------------------------------------------------------------------------------------------


class _Article:
    """A document being parsed: `state` handles the next text and tag, and returns whether the document ends there.

    There is one state for each kind of open element.
    """

    def __init__(self, name: str, line: int, attributes: str) -> None:
        self.name, self.line = name, line
        self.attributes = _parse_attributes(attributes)
        self.newid = self.attributes.pop("newid", "").strip()
        if not self.newid:
            raise self.error("a <REUTERS> tag without NEWID", "give each document a NEWID of its own")
        self.texts: dict[str, list[str]] = {}
        self.lists: dict[str, list[str]] = {}
        self.type, self.text_at = "", line
        self.element, self.opened_at, self.size, self.inside_d = "", line, 0, False
        # Plain functions, since bound methods would make reference cycles that wait for the garbage collector.
        self.state: State = _Article._between
        self.outer: State = _Article._between

    def document(self) -> Document:
        """Return the finished document."""
        texts = {part: _replace_references("".join(self.texts[part])) for part in _KEPT if part in self.texts}
        columns: dict[str, Any] = {"newid": self.newid, **self.attributes}
        # The attribute TOPICS records whether topics were assigned at first; the current ones are in the element.
        columns["topics_attribute"] = columns.pop("topics", "")
        columns |= {"type": self.type, "date": texts.get("date", "").strip(), "author": texts.get("author", "").strip()}
        columns |= {element: tuple(self.lists.get(element, ())) for element in LISTS if element != "topics"}
        return assemble_document(texts, self.lists.get("topics", ()), columns, f"{self.name}:{self.line}")

    def error(self, problem: str, hint: str) -> DataError:
        """Return an error that names the line where the document begins."""
        return DataError(problem, path=self.name, line=self.line, hint=hint)

    def _between(self, token: Token, tag: str) -> bool:
        """Handle a token between the elements of a document."""
        line, text, name, rest = token
        self._refuse_end_of_file(tag)
        if text and not text.isspace():
            raise _make_stray_error(token, self.name)
        if tag in _LEAVES:
            self._open(tag, line, _Article._in_leaf)
        elif tag in LISTS:
            self._open(tag, line, _Article._in_list)
        elif tag == "text":
            self.type, self.text_at = _parse_attributes(rest).get("type", "NORM"), line
            self._open(tag, line, _Article._in_text)
        elif tag != "/reuters":
            problem = f"<{name}> is not known between elements"
            raise DataError(problem, path=self.name, line=line, hint="remove it")
        return tag == "/reuters"

    def _in_leaf(self, token: Token, tag: str) -> bool:
        """Handle a token in an element that holds only text; unknown tags count as text."""
        if self._add_text(token, tag, self.element):
            self.element, self.opened_at, self.state = "text", self.text_at, self.outer
        return False

    def _in_text(self, token: Token, tag: str) -> bool:
        """Handle a token in a TEXT element: one of its parts, or text outside of them."""
        if tag in TEXT_PARTS:
            self._keep(token[1], self.texts, "text")
            self._open(tag, token[0], _Article._in_leaf)
        elif self._add_text(token, tag, "text"):
            self.state = _Article._between
        return False

    def _in_list(self, token: Token, tag: str) -> bool:
        """Handle a token in a list of categories, each between <D> and </D>."""
        line, text, name, _ = token
        if text and not text.isspace():
            if not self.inside_d:
                raise _make_stray_error(token, self.name)
            self._keep(_replace_references(text.strip()), self.lists, self.element)
        self.inside_d = tag == "d"
        if tag == "/" + self.element:
            self.state = _Article._between
        elif tag not in ("d", "/d"):
            self._refuse_boundary(tag)
            problem = f"<{name}> within <{self.element.upper()}>"
            raise DataError(problem, path=self.name, line=line, hint="only <D> is allowed there")
        return False

    def _add_text(self, token: Token, tag: str, element: str) -> bool:
        """Add a text, and the tag after it unless that closes the element; return whether it does."""
        self._keep(token[1], self.texts, element)
        if tag == "/" + element:
            return True
        self._refuse_boundary(tag)
        self._keep(f"<{token[2]}{token[3]}>", self.texts, element)
        return False

    def _keep(self, text: str, parts: dict[str, list[str]], element: str) -> None:
        parts.setdefault(element, []).append(text)
        self.size += len(text)
        if self.size > MAX_ARTICLE:
            raise self.error(f"a document of more than {MAX_ARTICLE:,} characters", "is a </REUTERS> missing?")

    def _open(self, element: str, line: int, state: "State") -> None:
        self.element, self.opened_at, self.state, self.outer = element, line, state, self.state

    def _refuse_boundary(self, tag: str) -> None:
        """Raise a DataError if the article, its TEXT or the file ends within an element."""
        self._refuse_end_of_file(tag)
        if tag in ("/reuters", "/text"):
            name = self.element.upper()
            hint = f"add its </{name}>"
            raise DataError(f"unclosed <{name}>", path=self.name, line=self.opened_at, hint=hint)

    def _refuse_end_of_file(self, tag: str) -> None:
        if tag in ("", "reuters"):
            raise self.error("unclosed <REUTERS>", "add its </REUTERS>; is the file cut off?")


State = Callable[[_Article, Token, str], bool]


def _parse_attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag by name; values may be in double quotes, single quotes or none."""
    return {match[1].lower(): match[2] or match[3] or match[4] or "" for match in _ATTRIBUTE.finditer(text)}


# -- text --------------------------------------------------------------------------------------------------------------


def _replace_references(text: str) -> str:
    """Replace character references; references to entities of a DTD stay unchanged."""
    return _REFERENCE.sub(_decode_reference, text) if "&" in text else text


def _decode_reference(match: re.Match[str]) -> str:
    code, name = match.groups()
    if name:
        return _NAMED[name]
    # Surrogates and numbers beyond Unicode are not characters.
    return chr(int(code)) if int(code) < 0xD800 or 0xE000 <= int(code) <= 0x10FFFF else " "


def _clean(text: str, part: str) -> str:
    """Return a part of a text without control characters, surrounding whitespace and the agency's end mark."""
    text = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if part == "title":
        return " ".join(text.split())
    if part == "body" and _END_MARK.fullmatch(text, text.rfind("\n") + 1):
        return text[: text.rfind("\n") + 1].rstrip()
    return text
