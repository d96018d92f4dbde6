# Runs the cells of the project's notebooks. These are plain Python, and each shows at most one
# answer. Other notebooks may need IPython (shell.py), which takes half a second to import.

import ast
from typing import Any


class Cells:
    """Runs cells in one namespace, user_ns."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}

    def run(self, cell: Any) -> BaseException | None:
        """Run a cell, put the value of its last line into its outputs, and return its exception."""
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
