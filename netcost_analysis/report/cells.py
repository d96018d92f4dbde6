# Runs the cells of the project's notebooks: plain Python, of which each shows one answer. Others
# may need IPython (shell.py), which takes half a second to import.

import ast
from typing import Any


class Cells:
    """Cells that share their names, user_ns."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}

    def run(self, cell: Any) -> BaseException | None:
        """Run a cell of a notebook, its last value into its outputs, and return what it raised."""
        try:
            tree = ast.parse(cell.source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<cell>", "exec"), self.user_ns)  # noqa: S102
            if isinstance(last, ast.Expr):
                shown = compile(ast.Expression(last.value), "<cell>", "eval")
                answer = eval(shown, self.user_ns)  # noqa: S307
                cell.outputs = [
                    {"output_type": "display_data", "data": data, "metadata": about}
                    for data, about in (answer.shown() if answer is not None else ())
                ]
        except BaseException as error:
            return error
        return None
