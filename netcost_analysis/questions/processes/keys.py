# What the rows of the tables are told apart by, as plain columns.

from ...timeline.by import TaskBy, check_by


def task_keys(by: str) -> list[str]:
    check_by(by, TaskBy)
    return {"tid": ["tid", "comm"], "comm": ["comm"], "cpu": ["cpu"]}[by]
