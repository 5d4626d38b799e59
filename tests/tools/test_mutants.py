"""The faults that mutation testing puts into a module: one at a time, removed again, and none in docstrings."""

import ast

from mutants import mutants

SOURCE = '''
"""What it is for."""
LIMIT: int = 3


class Box:
    items = (0,)

    @property
    def size(self, most: int = 2) -> int:
        """Return it."""
        if not self.items and most < LIMIT:
            raise ValueError("is 1 too few" + "!")
        self.seen = True
        return min(most, key=None) or len(self.items[1:])


def found(rows: list[int]) -> list[int]:
    query = "SELECT a FROM b WHERE c < ? ORDER BY c DESC LIMIT 1"
    return [row - 1 for row in sorted(rows) if row is not None]
'''


def test_each_mutant_has_one_named_fault() -> None:
    told = [(mutant.function, mutant.lines.start, mutant.what) for mutant in mutants(SOURCE)]
    assert told == [
        ("", 3, "3 -> 4"),
        ("", 7, "0 -> 1"),
        ("Box.size", 10, "2 -> 3"),
        ("Box.size", 12, "not self.items and most < LIMIT -> not self.items or most < LIMIT"),
        ("Box.size", 12, "not self.items -> self.items"),
        ("Box.size", 12, "most < LIMIT -> most <= LIMIT"),
        ("Box.size", 13, "raise ValueError('is 1 too few' + '!') -> pass"),
        ("Box.size", 14, "self.seen = True -> pass"),
        ("Box.size", 14, "True -> False"),
        ("Box.size", 15, "return min(most, key=None) or len(self.items[1:]) -> return"),
        ("Box.size", 15, "min(most, key=None) or len(self.items[1:]) -> min(most, key=None) and len(self.items[1:])"),
        ("Box.size", 15, "min(most, key=None) -> max(most, key=None)"),
        ("Box.size", 15, "min(most, key=None) -> min(most)"),
        ("Box.size", 15, "1: -> :"),
        ("Box.size", 15, "1 -> 2"),
        *(("found", 19, f"{QUERY!r} -> {other!r}") for other in OTHERS),
        ("found", 20, "return [row - 1 for row in sorted(rows) if row is not None] -> return"),
        ("found", 20, "row - 1 -> row + 1"),
        ("found", 20, "1 -> 2"),
        ("found", 20, "for row in sorted(rows) if row is not None -> for row in sorted(rows)"),
        ("found", 20, "sorted(rows) -> list(rows)"),
        ("found", 20, "row is not None -> row is None"),
    ]


QUERY = "SELECT a FROM b WHERE c < ? ORDER BY c DESC LIMIT 1"
OTHERS = [
    f"XX{QUERY}",
    QUERY.replace(" DESC", ""),
    QUERY.replace("<", "<="),
    QUERY.replace("LIMIT 1", "LIMIT 0"),
]


def test_a_fault_is_removed_before_the_next_one() -> None:
    plain, seen = ast.unparse(ast.parse(SOURCE)), set()
    for mutant in mutants(SOURCE):
        compile(mutant.tree, "mutant", "exec")
        seen.add(ast.unparse(mutant.tree))
    assert plain not in seen
    assert len(seen) == len(list(mutants(SOURCE)))
    assert ast.unparse(mutant.tree) == plain
