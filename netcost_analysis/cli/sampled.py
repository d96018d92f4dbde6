# What commands on samples take: the kernel's symbols, and whether programs' functions are wanted.

from collections.abc import Callable

import click

from .options import given_beside, keep_beside


def names_options(function: Callable[..., None]) -> Callable[..., None]:
    # --kallsyms, --user and --symbols, of which the command gets `user`.
    for option in (
        click.option(
            "--symbols",
            type=click.Path(),
            metavar="DIR",
            expose_value=False,
            callback=keep_beside,
            help="Look for programs here first: .build-id, whole paths, or names. Implies --user.",
        ),
        click.option(
            "--user",
            is_flag=True,
            help="Name functions of programs, from this machine's files of the recorded build ids.",
        ),
        click.option(
            "--kallsyms",
            type=click.Path(),
            metavar="FILE",
            expose_value=False,
            callback=keep_beside,
            help="A copy of /proc/kallsyms, where the recording has none.",
        ),
    ):
        function = option(function)
    return function


def wants_user(user: bool) -> bool:
    return user or "symbols" in given_beside()
