"""Small faults put into a module, one at a time, as a programmer might make them; `mutation` sees whether tests mind.

Not mutated: annotations, decorators, imports, docstrings, and what is said when something is raised.
"""

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
_CAUGHT = {"BaseException": "Exception"}
_SQL = {
    " DESC": "",
    " < ": " <= ",
    " > ": " >= ",
    " <= ": " < ",
    " >= ": " > ",
    " = ": " != ",
    " AND ": " OR ",
    " LIMIT 1": " LIMIT 0",
    "BEGIN IMMEDIATE": "BEGIN",
    "INSERT OR REPLACE": "INSERT",
    "LEFT JOIN": "JOIN",
    "max(": "min(",
}
_IS_SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|BEGIN|COMMIT|PRAGMA|CREATE)\b")


class Mutant(NamedTuple):
    """A module with one fault in it.

    Parameters
    ----------
    function : str
        The function or method that has it; "" where it is outside of all.
    lines : range
        Of the statement.
    what : str
        What became what.
    tree : ast.Module
        The module. It is as it was again when the next mutant is asked for.
    """

    function: str
    lines: range
    what: str
    tree: ast.Module


class _Place(NamedTuple):
    """The place of a node: a field of another, or a list there."""

    node: ast.AST
    owner: ast.AST
    field: str
    number: int | None
    function: str
    lines: range

    def put(self, node: Any) -> None:
        if self.number is None:
            setattr(self.owner, self.field, node)
        else:
            getattr(self.owner, self.field)[self.number] = node


def mutants(source: str) -> Iterator[Mutant]:
    """Yield a module with each fault in turn."""
    tree = ast.parse(source)
    for place in list(_find_places(tree, "", "", range(0))):
        for changed in _change(place.node):
            wrong = ast.fix_missing_locations(ast.copy_location(copy.copy(changed), place.node))
            place.put(wrong)
            yield Mutant(place.function, place.lines, f"{_show(place.node)} -> {_show(wrong)}", tree)
            place.put(place.node)


def _find_places(owner: ast.AST, owners: str, function: str, lines: range) -> Iterator[_Place]:
    """Yield every node that may be changed, with the function that it is in and the lines of its statement."""
    for field, value in ast.iter_fields(owner):
        if field in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _is_left_alone(node):
                continue
            classes = f"{owners}{node.name}." if isinstance(node, ast.ClassDef) else owners
            name = function or (f"{owners}{node.name}" if isinstance(node, ast.FunctionDef) else "")
            at = _lines_of(node) if isinstance(node, ast.stmt | ast.ExceptHandler) else lines
            yield _Place(node, owner, field, index, name, at)
            if not isinstance(node, ast.Raise):
                yield from _find_places(node, classes, name, at)


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _lines_of(node: ast.stmt | ast.ExceptHandler) -> range:
    """Return the lines of a statement; of one that holds others, those of its head."""
    body = getattr(node, "body", None)
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
    return range(node.lineno, (last or node.lineno) + 1)


def _show(node: ast.AST) -> str:
    """Return a node as code, in one line and not too much of it."""
    head = node.test if isinstance(node, ast.If | ast.While) else node
    code = " ".join(ast.unparse(head).split())
    return code if len(code) <= 80 else f"{code[:60]} ... {code[-15:]}"


def _change(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may be by mistake."""
    yield from _change_statement(node)
    yield from _change_operator(node)
    yield from _change_value(node)
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield _with(node, "test", ast.UnaryOp(ast.Not(), node.test))


def _change_statement(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr() | ast.Raise() | ast.Return(value=None) | ast.Delete() | ast.Assert() | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield ast.Pass()
        case ast.Return(value=value) if not isinstance(value, ast.Constant) or value.value is not None:
            yield ast.Return(None)
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.ExceptHandler(type=ast.Name(id=name)) if name in _CAUGHT:
            yield _with(node, "type", ast.Name(_CAUGHT[name], ast.Load()))


def _change_operator(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=ops):
            for place, operator in enumerate(ops):
                yield _with(node, "ops", [*ops[:place], _COMPARED[type(operator)](), *ops[place + 1 :]])
        case ast.BoolOp(op=operator):
            yield _with(node, "op", ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in _COMPUTED:
            yield _with(node, "op", _COMPUTED[type(operator)]())
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)


def _change_value(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool() as truth):
            yield ast.Constant(not truth)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.Constant(value=str() as text):
            yield from map(ast.Constant, _change_text(text))
        case ast.Constant(value=bytes() as octets):
            yield ast.Constant(b"XX" + octets)
        case ast.IfExp(body=body, orelse=other):
            yield from (body, other)
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, "ifs", [])
        case ast.Slice():
            yield from (_with(node, bound, None) for bound in ("lower", "upper") if getattr(node, bound) is not None)
        case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
            yield _with(node, "func", ast.Name(_NAMES[name], ast.Load()))
    if isinstance(node, ast.Call):
        named = [keyword for keyword in node.keywords if keyword.arg is not None]
        yield from (_with(node, "keywords", [other for other in node.keywords if other is not one]) for one in named)


def _change_text(text: str) -> Iterator[str]:
    """Yield another text; of a question to the database also some that ask nearly the same."""
    yield f"XX{text}"
    if _IS_SQL.search(text):
        for old, new in _SQL.items():
            yield from (text[: at.start()] + new + text[at.end() :] for at in re.finditer(re.escape(old), text))


def _with(node: ast.AST, field: str, value: Any) -> ast.AST:
    """Return a node that differs in one field."""
    other = copy.copy(node)
    setattr(other, field, value)
    return other
