"""Which small mistakes can be made in a module? Each is one change in the body of a function.

What is only said (docstrings, annotations, what is logged or told of an error) is left alone, and so is what runs when
the module is loaded.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from types import CodeType

import attrs

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
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
#: Functions that only tell people something.
_TOLD = frozenset(("__repr__", "__str__"))


@attrs.frozen
class Mutant:
    """One mistake."""

    line: int
    #: The outermost function that it is in: its qualified name and its first line, by which Python knows its code.
    function: str
    function_line: int
    #: What was there, and what is there now.
    what: str
    path: str
    _tree: ast.Module = attrs.field(repr=False)

    def code(self) -> CodeType:
        """The function's code with the mistake."""
        return functions_in(compile(self._tree, self.path, "exec"))[self.function, self.function_line]


def functions_in(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of all functions and methods of a module, by qualified name and first line; not of those within."""
    found: dict[tuple[str, int], CodeType] = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            # a class's body is code without arguments that is run at once, and has no name of a function
            if each.co_flags & _OPTIMIZED:
                found[each.co_qualname, each.co_firstlineno] = each
            else:
                found.update(functions_in(each))
    return found


#: What all code of functions has, and that of classes and modules has not.
_OPTIMIZED = 1


def mutants_of(source: str, path: str) -> Iterator[Mutant]:
    """All mistakes, in the order of the file."""
    tree = ast.parse(source, path)
    originals = functions_in(compile(tree, path, "exec"))
    for name, function in _functions(tree, ""):
        line = min([function.lineno, *(each.lineno for each in function.decorator_list)])
        if function.name in _TOLD or (name, line) not in originals:
            continue
        for node, change, what in _changes(function):
            changed = copy.deepcopy(tree)
            twin = _twin(tree, changed, node)
            change(twin)
            yield Mutant(getattr(node, "lineno", line), name, line, what, path, ast.fix_missing_locations(changed))


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Change = Callable[[ast.AST], object]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for each in ast.iter_child_nodes(node):
        if isinstance(each, _Function):
            yield prefix + each.name, each
        elif isinstance(each, ast.ClassDef):
            yield from _functions(each, f"{prefix}{each.name}.")


def _twin(tree: ast.AST, copied: ast.AST, node: ast.AST) -> ast.AST:
    """Where the node is in the copy."""
    return next(theirs for ours, theirs in zip(ast.walk(tree), ast.walk(copied), strict=True) if ours is node)


def _changes(function: _Function) -> Iterator[tuple[ast.AST, _Change, str]]:
    for statement in function.body:
        yield from _changes_in(statement)


def _changes_in(node: ast.AST) -> Iterator[tuple[ast.AST, _Change, str]]:
    if _is_only_said(node):
        return
    yield from _changes_of(node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "msg"):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _changes_in(each)


def _is_only_said(node: ast.AST) -> bool:
    """Docstrings, the log, texts of errors, what is for the checker of types, and what `zip` is to insist on."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="_log")))):
            return True
        case ast.Raise() | ast.Call(func=ast.Name(id="cast")) | ast.keyword(arg="strict"):
            return True
    return False


def _changes_of(node: ast.AST) -> Iterator[tuple[ast.AST, _Change, str]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            other = _COMPARED[type(op)]
            yield node, _setter("ops", lambda _: [other()]), f"{_name(op)} for {other.__name__}"
        case ast.BoolOp(op=op):
            swapped = ast.Or if isinstance(op, ast.And) else ast.And
            yield node, _setter("op", lambda _: swapped()), f"{_name(op)} for {swapped.__name__}"
        case ast.UnaryOp(op=ast.Not()):
            yield node, _doubly, "without not"
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _COMPUTED:
            computed = _COMPUTED[type(op)]
            yield node, _setter("op", lambda _: computed()), f"{_name(op)} for {computed.__name__}"
        case ast.Constant(value=bool(value)):
            yield node, _setter("value", lambda _: not value), f"{value} for {not value}"
        case ast.Constant(value=int(value)):
            yield node, _setter("value", lambda _: value + 1), f"{value} for {value + 1}"
        case ast.Constant(value=bytes(value)):
            yield node, _setter("value", lambda _: value + b"!"), f"{value!r} and more"
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield node, _setter("test", lambda now: ast.UnaryOp(ast.Not(), now)), "not if"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield node, _setter("value", lambda _: ast.Constant(None)), "returns None"
        case ast.Expr(value=ast.Call()):
            yield node, _setter("value", lambda _: ast.Constant(None)), "without a call"
        case ast.Break():
            yield node, _become_continue, "continue for break"
        case ast.Assign(targets=[ast.Attribute()]) | ast.Delete():
            yield node, _become_pass, "without it"


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _setter(field: str, value: Callable[[ast.expr], object]) -> _Change:
    def change(node: ast.AST) -> None:
        setattr(node, field, value(getattr(node, field)))

    return change


def _doubly(node: ast.AST) -> None:
    """``not x`` becomes ``not not x``: the truth of x."""
    assert isinstance(node, ast.UnaryOp)
    node.operand = ast.UnaryOp(ast.Not(), node.operand)


def _become(node: ast.AST, other: type[ast.stmt]) -> None:
    node.__class__ = other  # type: ignore[assignment]  # the fields that are too many harm nobody
    for field in ("targets", "value"):
        node.__dict__.pop(field, None)


def _become_continue(node: ast.AST) -> None:
    _become(node, ast.Continue)


def _become_pass(node: ast.AST) -> None:
    _become(node, ast.Pass)
