"""Finds the possible changes of one line, and draws some by a seed."""

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
LIBRARY: Final = ROOT / "vqa_client"
SWAPPED: Final = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"},
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.And: "or", ast.Or: "and"},
}
UNRETURNED: Final = (type(None), ast.Constant)
"""Returned values that aren't replaced by None: constants are changed by themselves, and None acts like False."""
UNREAD_CALLS: Final = {"TypeVar", "NewType", "cast", "lru_cache"}
"""Calls whose arguments don't change what a run does: names of types, sizes of caches."""


class Change(NamedTuple):
    """A changed line of a file; `line` counts from 1."""

    path: Path
    line: int
    before: str
    after: str

    @property
    def room(self) -> str:
        return room_of(self.path)

    def text(self) -> str:
        """The file with the changed line."""
        lines = self.path.read_text(encoding="utf-8").split("\n")
        lines[self.line - 1] = self.after
        return "\n".join(lines)

    def is_python(self) -> bool:
        try:
            ast.parse(self.text())
        except SyntaxError:
            return False
        return True


def room_of(path: Path) -> str:
    """The folder below the library, or the library itself."""
    inner = path.relative_to(LIBRARY).parts
    return inner[0] if len(inner) > 1 else "vqa_client"


def changes_of(path: Path, text: str) -> Iterator[Change]:
    """Changes of one line each, without those that can't change a run."""
    lines, tree = text.split("\n"), ast.parse(text)
    skipped = {id(inner) for node in ast.walk(tree) for part in _unread(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for line, start, end, new in _edits(node, lines):
            before = lines[line - 1]
            raw = before.encode()  # the parser's offsets are in bytes
            after = (raw[:start] + new.encode() + raw[end:]).decode()
            if after != before:
                yield Change(path, line, before, after)


def _unread(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that no test can notice: docstrings, annotations, imports, options of classes and so on."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [node]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return [node]
    if isinstance(node, ast.ClassDef):
        calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
        made = [call.keywords for call in calls if isinstance(call.func, ast.Name) and call.func.id == "dataclass"]
        return [*node.keywords, *(keyword for keywords in made for keyword in keywords)]
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return [node]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in UNREAD_CALLS:
        return [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.Call)]
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return [node]
    if isinstance(node, ast.JoinedStr):  # changed as one
        return [each for each in node.values if isinstance(each, ast.Constant)]
    if isinstance(node, ast.keyword) and node.arg == "strict":  # zip's strict: it only matters for a mistake
        return [node]
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    return [annotation] if annotation is not None else []


def _edits(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """The line, the first and last byte in it, and the replacement."""
    if isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno == node.end_lineno:
        start, end = node.col_offset, node.end_col_offset or 0
        value = getattr(node, "value", "")
        if isinstance(value, bool | int | float):
            yield node.lineno, start, end, str(not value if isinstance(value, bool) else value + 1)
        elif isinstance(value, str):
            written = lines[node.lineno - 1].encode()[start:end]
            if b" " in written.strip(b"fr\"' "):  # a text for people is emptied; a name is changed
                yield node.lineno, start, end, '""'
            elif written[-1:] in (b'"', b"'"):
                yield node.lineno, end - 1, end, f"x{written[-1:].decode()}"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _between(node.left, node.comparators[0], SWAPPED[type(node.ops[0])])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield from _between(node.left, node.right, SWAPPED[type(node.op)])
    elif isinstance(node, ast.BoolOp):
        yield from _between(node.values[0], node.values[1], SWAPPED[type(node.op)])
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and node.test.lineno == node.test.end_lineno:
        test = node.test
        words = lines[test.lineno - 1].encode()[test.col_offset : test.end_col_offset].decode()
        yield test.lineno, test.col_offset, test.end_col_offset or 0, f"not ({words})"
    elif isinstance(node, ast.ExceptHandler) and node.type is not None and node.type.lineno == node.type.end_lineno:
        yield node.type.lineno, node.type.col_offset, node.type.end_col_offset or 0, "()"
    elif isinstance(node, ast.Return) and node.lineno == node.end_lineno and not isinstance(node.value, UNRETURNED):
        yield node.lineno, node.col_offset, node.end_col_offset or 0, "return None"


def _between(left: ast.expr, right: ast.expr, new: str) -> Iterator[tuple[int, int, int, str]]:
    if left.end_lineno == right.lineno and left.end_col_offset is not None:
        yield right.lineno, left.end_col_offset, right.col_offset, f" {new} "


def drawn(seed: int, count: int, rooms: Iterable[str] = ()) -> list[Change]:
    """Draw n changes of n lines; each line is equally likely."""
    by_line: dict[tuple[Path, int], list[Change]] = defaultdict(list)
    for path in sorted(LIBRARY.rglob("*.py")):
        if not rooms or room_of(path) in rooms:
            for change in changes_of(path, path.read_text(encoding="utf-8")):
                by_line[path, change.line].append(change)
    chance = random.Random(seed)
    lines = chance.sample(sorted(by_line), len(by_line))
    return list(islice(filter(Change.is_python, (chance.choice(by_line[line]) for line in lines)), count))
