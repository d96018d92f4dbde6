# netcost compare: two run sets as a write-up, as JSON, or for benchstat.

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..timeline.window import NAMED
from .arguments import TASK
from .fail_if import conclude, condition_options
from .options import Decorator, flag, json_option, option, output_option, print_json

if TYPE_CHECKING:
    from ..questions.thresholds import Threshold
    from ..report.case_table import CaseTable
    from ..report.write_up import WriteUp

_SIDES = ("--base", "--new")
# Options that go to compare() under the same names.
_WHERE = ("where", "base_where", "new_where")
_CHOSEN = ("per", "primary", "window", "victim", "client", "server")
# What only the mail to kernel developers uses.
_COMMITS = ("base_commit", "new_commit", "git", "reported_by", "closes")


class _ManyPaths(click.Command):
    # Accepts `--base A B --new C D`, which a shell's * expands to. click takes one word per option.

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        made: list[str] = []
        side = ""
        for place, word in enumerate(args):
            if word == "--":
                made += args[place:]
                break
            if word.startswith("-") and word != "-":
                side = word if word in _SIDES else ""
                follows = args[place + 1 : place + 2]
                # Repeat the option before each word. If no word follows, let click complain.
                made += [] if side and follows and not follows[0].startswith("-") else [word]
            else:
                made += [side, word] if side else [word]
        return super().parse_args(ctx, made)


def _labels(
    _: click.Context, __: click.Parameter, given: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    # A label given several times matches any of its values.
    labels: dict[str, tuple[str, ...]] = {}
    for label in given:
        name, equals, value = label.partition("=")
        if not (name and equals):
            raise click.UsageError(f"a label is NAME=VALUE, not {label!r}")
        labels[name] = (*labels.get(name, ()), value)
    return labels


def _where(name: str, help_text: str) -> Decorator:
    return option(name, "NAME=VALUE", help_text, multiple=True, callback=_labels)


def _side(name: str, help_text: str) -> Decorator:
    return click.option(name, f"{name[2:]}_more", multiple=True, metavar="PATH...", help=help_text)


@click.command("compare", cls=_ManyPaths, short_help="Write up what changed between two run sets.")
@click.argument("base_path", metavar="BASE", required=False)
@click.argument("new_path", metavar="[NEW]", required=False)
@_side("--base", "Recordings, folders, experiments or tables of the base.")
@_side("--new", "The same of the new side.")
@option(
    "--by",
    "LABEL",
    "Compare all values of a label: a table of cases by loads, against the base that "
    "--base-where names.",
)
@_where("--where", "A label that the runs of both sides must have; may be repeated.")
@_where("--base-where", "A label that tells the base's runs from others.")
@_where("--new-where", "A label that tells the new side's.")
@option("--per", "UNIT", "The unit of work: packet, byte, transaction, block, work or second.")
@option("--primary", "METRIC", "What the verdict is about, named before looking.")
@option(
    "--window",
    "NAME",
    "What of each recording counts: victim, load, duration, trace; auto (the first of these that "
    "is known) unless given.",
    type=click.Choice(NAMED),
)
@option(
    "--label",
    "BASE NEW",
    "What to call the sides; else what differs: labels, settings, folders.",
    nargs=2,
)
@click.option("--victim", type=TASK, help="The task that lost, instead of the bundles'.")
@click.option("--client", type=TASK, help="The task that sends, instead of the one found.")
@click.option("--server", type=TASK, help="The task that answers, instead of the one found.")
@option("--base-commit", "COMMIT", "The commit of the base's kernel.")
@option("--new-commit", "COMMIT", "The commit of the new side's.")
@option(
    "--git",
    "DIR",
    "A clone that knows the commits' titles, or those of the recorded kernels.",
    type=click.Path(exists=True, file_okay=False),
)
@option("--reported-by", "NAME", "Who reported it: a tag of the mail.")
@option("--closes", "URL", "The report that it answers: a tag of the mail.")
@output_option(
    *(".html", ".htm", ".md", ".txt"),
    help="Write the write-up to FILE: a page, Markdown, or the text that is else printed.",
)
@flag("--bench", "Print every observation as Go's benchmarks, for benchstat.")
@flag(
    "--paired",
    "Compare each repeat with the one of the other side with the same label repeat, or place.",
)
@condition_options(
    "Exit with 3 where it is so of the new side, as 'victim_share < 40%', or of the change, as "
    "'change(network_ns_per_packet) > 5%': where the whole 95 % interval is. Exit with 4 where a "
    "part of it is. May be repeated."
)
@json_option
def command(
    base_path: str | None,
    new_path: str | None,
    base_more: tuple[str, ...],
    new_more: tuple[str, ...],
    output: str | None,
    bench: bool,
    paired: bool,
    conditions: "tuple[Threshold, ...]",
    unjudged: str,
    as_json: bool,
    by: str | None,
    **given: Any,
) -> None:
    """Write up what changed from BASE to NEW: a verdict, what it rests on, how to do it again.

    BASE and NEW are recordings, folders of them, experiments of capture/lab, or tables with a
    column path, and of bare traces columns victim_output, baseline_output and the like for what
    was kept beside each. Without NEW both are runs of BASE, told apart by --base-where and
    --new-where.
    """
    from ..comparison.comparison import compare
    from ..opening.experiment import is_experiment, open_experiment
    from ..report.provenance import Commits
    from ..report.write_up import WriteUp

    base = [path for path in (base_path, *base_more) if path is not None]
    new = [path for path in (new_path, *new_more) if path is not None]
    if not base:
        raise click.UsageError("name what to compare: BASE, or --base PATH...")
    if "-" in (*base, *new):
        raise click.UsageError("compare reads recordings more than once: give it files")
    if as_json and bench:
        raise click.UsageError("--json and --bench each fill standard output: choose one")
    opened = {path: open_experiment(path) for path in sorted({*base, *new}) if is_experiment(path)}
    if by is not None:
        if new or bench or conditions or any(given[name] for name in ("label", *_COMMITS)):
            raise click.UsageError(
                "--by takes its sides from BASE: no NEW, --bench, --fail-if, --label, commits, tags"
            )
        given["paired"] = paired
        _by(by, [opened.get(path, path) for path in base], base, given, output, as_json)
        return
    options = {name: given[name] for name in (*_WHERE, *_CHOSEN, "label")}
    first, second = ([opened.get(path, path) for path in paths] for paths in (base, new))
    # The metric of a condition counts as named before looking.
    beforehand = [condition.name for condition in conditions]
    commits = Commits(**{name.removesuffix("_commit"): given[name] for name in _COMMITS})
    comparison = compare(first, second or None, beforehand=beforehand, paired=paired, **options)
    words = _command(base, new, given)
    words += ["--paired"] if paired else []
    words += [word for condition in conditions for word in ("--fail-if", condition.text)]
    written = WriteUp(comparison, words, list(opened.values()), commits)
    # Samples alone have no changes, so ask for them only if there is a condition.
    judged = [rule.of_changes(written.answers["changes"].frame) for rule in conditions]
    _write(written, output, prints=not (as_json or bench))
    if as_json:
        from .compare_formats import document

        print(document(written, judged).decode())
    elif bench:
        from .compare_formats import bench_lines

        print("\n".join(bench_lines(comparison, written.answers["observations"])))
    conclude(judged, unjudged)


def _by(
    by: str,
    sources: list[Any],
    paths: list[str],
    given: dict[str, Any],
    output: str | None,
    as_json: bool,
) -> None:
    from ..comparison.run_set import run_set
    from ..questions.comparison.conditions import cases
    from ..report.case_table import CaseTable

    if [*given["base_where"]] != [by] or len(given["base_where"][by]) != 1 or given["new_where"]:
        raise click.UsageError(f"name the base of --by {by}: --base-where {by}=VALUE")
    [base] = given["base_where"][by]
    runs = run_set(*sources)
    runs = runs.where(**given["where"]) if given["where"] else runs
    runs = runs.within(given["window"]) if given["window"] else runs
    options = {name: given[name] for name in (*_CHOSEN, "paired") if name != "window"}
    rows = cases(runs, by, base, **options)
    words = [*_command(paths, [], given), "--by", by, *(["--paired"] if given["paired"] else [])]
    _write(CaseTable(rows, by, base, words), output, prints=not as_json)
    if as_json:
        from ..display.export import rows as plain_rows

        print_json({"by": by, "base": base, "cases": plain_rows(rows)})


def _write(made: "WriteUp | CaseTable", output: str | None, prints: bool) -> None:
    # The file's ending selects the form. prints: say where the file is, or print the text.
    from ..files import replacing

    if output:
        forms = {".txt": made.text, ".md": made.markdown}
        text = forms.get(Path(output).suffix, made.html)()
        with replacing(output) as draft:
            draft.write_text(text, encoding="utf-8")
    if prints:
        print(f"write-up in {output}" if output else made.text(), end="\n" if output else "")


def _command(base: list[str], new: list[str], options: dict[str, Any]) -> list[str]:
    # The command that repeats this comparison from the same folder.
    words = ["netcost", "compare"]
    if len(base) == 1 and len(new) <= 1:
        words += map(_path, (*base, *new))
    else:
        words += ["--base", *map(_path, base), *(["--new", *map(_path, new)] if new else [])]
    for name in _WHERE:
        for label, values in options[name].items():
            words += [word for value in values for word in (_spelled(name), f"{label}={value}")]
    for name in (*_CHOSEN, *_COMMITS):
        words += [_spelled(name), str(options[name])] if options[name] is not None else []
    return [*words, *(("--label", *options["label"]) if options["label"] else ())]


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _path(path: str) -> str:
    # A leading dash would make it an option.
    return f"./{path}" if path.startswith("-") else path
