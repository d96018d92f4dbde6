# Functions of programs, as a reader knows them.

from .profile import Profile


def labels(one: Profile) -> list[str]:
    # Of each frame its function, of a program's with the name of its file; "" where nothing is
    # known.
    functions: list[str] = one.names["function"].tolist()
    if "dso" not in one.frames:
        return functions
    files = one.frames["dso"].astype(object).fillna("").str.rpartition("/")[2]
    return [
        function if not file else f"{function} ({file})" if function else f"[{file}]"
        for function, file in zip(functions, files, strict=True)
    ]
