# Words format fields of answers. A figure that is computed where it is told has a second definition
# beside the answer's: what makes words divides, sums, averages and fits nothing. What picks the
# figures of a template picks them: what is computed of an answer's rows is a part of the answer.

import ast
import re
from collections.abc import Iterator

from jinja2 import nodes

from netcost_analysis.display.templates import environment
from support.host import ROOT

PACKAGE = ROOT / "netcost_analysis"
TEMPLATES = sorted(PACKAGE.glob("questions/**/*.md"))
# What writes sentences and tables for a reader. The other commands' modules choose and write rows.
WORDS = (
    *("questions/**/words*.py", "questions/**/summary.py", "questions/ledger_tables.py"),
    *("display/tables.py", "display/metrics.py"),
    *("cli/info.py", "cli/ledger.py", "cli/stolen*.py", "cli/report.py"),
)
MODULES = sorted({path for pattern in WORDS for path in PACKAGE.glob(pattern)})
COMPUTING = {
    *("sum", "fsum", "nansum", "prod", "cumsum", "diff", "groupby", "agg", "mul"),
    *("div", "truediv", "floordiv", "mod", "pow", "divmod", "mean", "nanmean", "average", "median"),
    *("nanmedian", "mode", "std", "var", "quantile", "nanquantile", "percentile", "fit", "lstsq"),
    *("polyfit", "linregress", "curve_fit", "corr", "cov", "interp"),
}
# Of units, and of str, what makes text of its arguments.
TEXT = {
    *(
        "duration",
        "fine_duration",
        "elapsed",
        "share",
        "points",
        "since",
        "thousands",
        "mbit",
        "ranges",
    ),
    *("printable", "filled", "count", "between", "share_between", "escape", "str", "join", "strip"),
    *("replace", "removeprefix", "removesuffix", "ljust", "rjust", "upper", "lower", "capitalize"),
}
# A place on a page, which is another where the answer is shown alone; "below 0" is none.
PLACE = re.compile(
    r"\b(above|below)\b(?! (0|\{\{))|\bthis page\b|\bend of (the|this) page\b|"
    r"\bat the end\b|\(see \""
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


class Texts:
    # Which expressions of a module are text, or lists: what "+" joins and does not add.
    def __init__(self, tree: ast.Module) -> None:
        functions = [one for one in ast.walk(tree) if isinstance(one, Function)]
        self.returning = {
            one.name
            for one in functions
            if one.returns is not None and ast.unparse(one.returns).startswith(("str", "list["))
        }
        self.names = {
            argument.arg
            for one in functions
            for argument in (*one.args.args, *one.args.kwonlyargs)
            if argument.annotation is not None and ast.unparse(argument.annotation) == "str"
        }
        named = [one for one in ast.walk(tree) if isinstance(one, ast.Assign)]
        for _ in range(3):
            for one in named:
                if self.is_text(one.value):
                    self.names |= {name.id for name in one.targets if isinstance(name, ast.Name)}

    def is_text(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant():
                return isinstance(node.value, str)
            case ast.JoinedStr() | ast.List() | ast.ListComp() | ast.Tuple():
                return True
            case ast.Name():
                return node.id in self.names
            case ast.IfExp():
                return self.is_text(node.body) or self.is_text(node.orelse)
            case ast.BoolOp():
                return all(map(self.is_text, node.values))
            case ast.Call():
                return name_of(node.func) in TEXT | self.returning
            case ast.BinOp(op=ast.Add()):
                return self.is_text(node.left) or self.is_text(node.right)
        return False


def computed(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    texts = Texts(tree)
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
                continue
            case ast.BinOp(op=ast.Add()) if texts.is_text(node):
                continue
            case ast.BinOp(left=ast.Constant(value=int()), right=ast.Constant(value=int())):
                continue
            case ast.AugAssign(op=ast.Add()) if texts.is_text(node.value):
                continue
            case ast.AugAssign(op=ast.BitAnd() | ast.BitOr()):
                continue
            case ast.UnaryOp(op=ast.USub(), operand=operand) if isinstance(operand, ast.Constant):
                continue
            case ast.Call() if name_of(node.func) in COMPUTING:
                yield node.lineno, ast.unparse(node)
            case ast.BinOp() | ast.AugAssign() | ast.UnaryOp(op=ast.USub()):
                yield node.lineno, ast.unparse(node)


def words_compute_nothing() -> Iterator[str]:
    for path in MODULES:
        for line, code in computed(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{line}: {code}"


# Of the filters these compute. "first", "join", "length" and their like choose and write.
FILTERS = {"sum", "abs", "round", "max", "min", "int", "float"}
SUMS = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg)


def templates_compute_nothing() -> Iterator[str]:
    for path in TEMPLATES:
        for node in environment().parse(path.read_text()).find_all((*SUMS, nodes.Filter)):
            where = f"{path.relative_to(ROOT)}:{node.lineno}:"
            if not isinstance(node, nodes.Filter) or node.name in FILTERS:
                yield f"{where} computes"
            elif node.name == "markdown":
                # What is not escaped is a macro's result, and nothing of a capture's, or was
                # escaped before.
                is_whole = isinstance(node.node, nodes.Name) and node.node.name == "paragraph"
                if not is_whole and not isinstance(node.node, nodes.Call):
                    yield f"{where} is not escaped"


def templates_escape_once() -> Iterator[str]:
    for path in TEMPLATES:
        tree = environment().parse(path.read_text())
        # What a macro writes of a row is escaped there.
        macros = {
            one.name for one in tree.find_all(nodes.Macro) if any(one.find_all(nodes.Getattr))
        }
        for node in (of for output in tree.find_all(nodes.Output) for of in output.nodes):
            called = node.node if isinstance(node, nodes.Call) else None
            if isinstance(called, nodes.Name) and called.name in macros:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {called.name}() | markdown"


def templates_point_at_no_place_of_a_page() -> Iterator[str]:
    for path in TEMPLATES:
        remarks = re.compile(r"\{#.*?#\}", re.DOTALL)
        text = remarks.sub(lambda one: "\n" * one[0].count("\n"), path.read_text())
        for found in PLACE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{path.relative_to(ROOT)}:{line}: {found[0]!r} is a place of a page"
