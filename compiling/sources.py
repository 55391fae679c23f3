"""The text that is compiled: the source, with what mypyc would leave to the interpreter written out.

mypyc compiles what stands in a file, and a dataclass's constructor does not: it is made while the program runs, and
stays interpreted. So it is written out here, in the place of the empty line behind the fields: every line keeps its
number, and a traceback of a compiled module points at the source. Nothing else is changed but for decorators: a native
class has slots by itself, must say if interpreted code inherits from it, and is frozen in the source only, as pickle
fills it attribute by attribute.
"""

import ast

OPEN = ("ProcessState", "Shard", "SpaceStore")
"""Classes with subclasses that are not compiled."""

_IMPORTED = "if TYPE_CHECKING: from mypy_extensions import mypyc_attr"
"""mypyc goes by the name alone, so that nobody needs the package when the program runs."""


def written_out(source: str) -> str:
    tree, lines = ast.parse(source), source.split("\n")
    made_by_us: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            dataclass = _dataclass_decorator(node)
            if dataclass is not None and _write_out(node, dataclass, lines):
                made_by_us.append(node.name)
            if node.name in OPEN:
                _open(node, tree, lines)
    if made_by_us:
        lines += [f"import conjoin.compiled; conjoin.compiled.pickle_by_arguments({', '.join(made_by_us)})", ""]
    return "\n".join(lines)


def _dataclass_decorator(node: ast.ClassDef) -> ast.Call | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "dataclass":
            return decorator
    return None


def _write_out(node: ast.ClassDef, dataclass: ast.Call, lines: list[str]) -> bool:
    """Answers whether the constructor is written out; one that calls factories stays as it is."""
    options = {option.arg: option.value for option in dataclass.keywords if option.arg != "slots"}
    if options.pop("frozen", None) and "eq" not in options:
        options["unsafe_hash"] = ast.Constant(True)
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
    is_plain = bool(fields) and not any("default_factory" in ast.unparse(field) for field in fields)
    if is_plain:
        options["init"] = ast.Constant(False)
        _put(lines, _end_of_fields(node, fields[-1]), f"    {_constructor(node, fields)}")
    written = ", ".join(f"{name}={ast.unparse(value)}" for name, value in options.items())
    lines[dataclass.lineno - 1] = f"@dataclass({written})"
    return is_plain


def _end_of_fields(node: ast.ClassDef, last: ast.AnnAssign) -> int:
    """The line behind the last field and what is said about it."""
    behind = node.body[node.body.index(last) + 1 :]
    about = behind[0] if behind and isinstance(behind[0], ast.Expr) else last
    return about.end_lineno or 0


def _constructor(node: ast.ClassDef, fields: list[ast.AnnAssign]) -> str:
    parameters, body = ["self"], []
    for field in fields:
        name, type_, default, is_given = _field(field)
        if is_given:
            parameters.append(f"{name}: {type_}" + (f" = {default}" if default else ""))
            body.append(f"self.{name} = {name}")
        elif default:
            body.append(f"self.{name} = {default}")
    if any(isinstance(part, ast.FunctionDef) and part.name == "__post_init__" for part in node.body):
        body.append("self.__post_init__()")
    return f"def __init__({', '.join(parameters)}) -> None: {'; '.join(body)}"


def _field(field: ast.AnnAssign) -> tuple[str, str, str, bool]:
    """Its name, type and default value, and whether the constructor is given it."""
    name, type_, value = ast.unparse(field.target), ast.unparse(field.annotation), field.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        said = {option.arg: ast.unparse(option.value) for option in value.keywords}
        return name, type_, said.get("default", ""), said.get("init") != "False"
    return name, type_, ast.unparse(value) if value is not None else "", True


def _open(node: ast.ClassDef, tree: ast.Module, lines: list[str]) -> None:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    _put(lines, first - 2, "@mypyc_attr(allow_interpreted_subclasses=True)")
    if _IMPORTED not in lines:
        imports = [part for part in tree.body if isinstance(part, ast.ImportFrom)]
        _put(lines, imports[-1].end_lineno or 0, _IMPORTED)
        in_one_line = next(part for part in imports if part.lineno == part.end_lineno)
        lines[in_one_line.lineno - 1] += "; from typing import TYPE_CHECKING"


def _put(lines: list[str], index: int, text: str) -> None:
    if lines[index].strip():
        raise ValueError(f"line {index + 1} is not empty, so that nothing can be written there: {lines[index]!r}")
    lines[index] = text
