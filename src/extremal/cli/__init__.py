"""The command line: `extremal COMMAND`, on CSV, Parquet and JSON files and through pipes.

Exit status 0; 1 if a check failed; 2 for input that makes no sense, with one line that says what to do; 130 when
interrupted. Libraries for output are imported by the commands that need them, so that help appears at once.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any

import typer
import typer.core
import typer.main

import extremal as ex
from extremal.model.reading import EPSILON

from . import audit, change, design, estimate, options, plan, privatize, regress, survey, tour, tradeoff
from .failure import BAD, INTERRUPTED, complain, open_streams, status_of

COMMANDS: dict[str, Callable[..., None]] = {
    "design": design.design,
    "certify": design.certify,
    "round": privatize.round_numbers,
    "privatize": privatize.privatize,
    "estimate": estimate.estimate,
    "change": change.change,
    "regress": regress.regress,
    "plan": plan.plan,
    "audit": audit.audit,
    "tradeoff": tradeoff.tradeoff,
    "key": privatize.key,
    "demo": tour.demo,
    "explore": tour.explore,
    "reproduce": tour.reproduce,
}

# The page of the documentation that says more; of the commands of `survey` and of the rest, docs/cli.md.
PAGES = {
    "design": "choosing.md",
    "privatize": "tutorial-csv.md",
    "estimate": "estimate.md",
    "round": "estimate.md",
    "change": "estimate.md",
    "regress": "estimate.md",
    "plan": "choosing.md",
    "audit": "audit.md",
    "reproduce": "paper.md",
}

# The base of the errors that the parser of arguments raises, whichever copy of click typer brings.
ClickError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


class Command(typer.core.TyperCommand):
    """A command whose usage names arguments without braces, and whose options are given once.

    The parser lets the last of two values win; a person who gave two meant something else.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:  # as when the shell completes a word
            self._refuse_repeated(ctx, list(args))
        return super().parse_args(ctx, args)

    def _refuse_repeated(self, ctx: Any, args: list[str]) -> None:
        _, _, order = self.make_parser(ctx).parse_args(args=args)
        seen: set[str] = set()
        for parameter in order:
            if parameter.param_type_name != "option" or getattr(parameter, "multiple", False):
                continue
            if parameter.name in seen:
                joint = parameter.name == "column" and any(p.name == "columns" for p in self.params)
                hint = "; for several columns together use --columns A,B" if joint else ""
                name = max(parameter.opts, key=len)
                raise UsageError(f"{name} was given more than once; give it once{hint}", ctx)
            seen.add(parameter.name)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub(r"^\{(\w+)\}(\.*)$", r"\1\2", piece) for piece in super().collect_usage_pieces(ctx)]


class Commands(typer.core.TyperGroup):
    """The commands in the order in which they are needed. Typer would list groups of commands last."""

    def list_commands(self, ctx: Any) -> list[str]:
        return ["survey", *(name for name in super().list_commands(ctx) if name != "survey")]


app = typer.Typer(
    name="extremal",
    cls=Commands,
    help="Ask sensitive questions, publish accurate results, and limit what each report can reveal about a person: "
    "for anyone who knows only how common the answers are, no guess gets more than e^epsilon times as likely to be "
    "right. A report may rule answers out; audit lists which.",
    epilog="Start with extremal demo, or with extremal survey new survey.toml.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        print(f"extremal {ex.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Show the help where no command is named."""
    show_help(context)


def show_help(context: typer.Context) -> None:
    """Show the help where no command is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def register(to: typer.Typer, commands: dict[str, Callable[..., None]]) -> None:
    """Commands with their help, which stands in their docstrings."""
    for name, command in commands.items():
        text, lines = options.sections(command)[""], "\n  ".join(options.examples(command))
        summary = text.partition("\n")[0]  # given apart it is not cut off in the list of commands
        page = "survey.md" if commands is survey.COMMANDS else PAGES.get(name, "cli.md")
        # \b: lines stay as they are
        epilog = f"\b\nExamples:\n  {lines}\n\nMore in docs/{page}."
        decorated = to.command(name, cls=Command, help=text, short_help=summary, epilog=epilog)
        decorated(options.grouped(command))


register(app, COMMANDS)
SURVEY = (
    "Ask people on their own devices, which draw the reports. True answers to private questions are not sent."
)
survey_app = typer.Typer(
    help=SURVEY,
    short_help=SURVEY,  # given apart it is not cut off
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


survey_app.callback(invoke_without_command=True)(show_help)
register(survey_app, survey.COMMANDS)
app.add_typer(survey_app, name="survey")


@cache
def parser() -> Any:
    """The parser of all commands. Typer would build it again for every call, which takes longer than most commands."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status. Whatever goes wrong, a person sees one line."""
    if not open_streams():
        complain("standard output must be open, got a closed one; where nobody reads it, write: > /dev/null")
        return BAD
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without these characters still gets the rest
    if arguments is None:  # as a program: being told to stop leaves no temporary files behind
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
                signal.signal(number, _stop)
    given = None if arguments is None else list(arguments)
    try:
        status = parser()(given, prog_name="extremal", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:  # typer's own answer to an interrupt
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except ClickError as error:
        where = getattr(getattr(error, "ctx", None), "command_path", "extremal")
        wrong = getattr(error, "option_name", None)
        hint = _instead(error, sys.argv[1:] if given is None else given)
        said = f"{error.format_message().rstrip('.')}{hint}" if wrong is None else _unknown(error, wrong)
        complain(f"{said} (see {where} --help)")
        return BAD
    except typer.Abort:
        return status_of(KeyboardInterrupt())
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # typer's own answer to a reader that has gone is 1
            return status_of(stop.__context__)
        return stop.code if isinstance(stop.code, int) else 0
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("EXTREMAL_TRACEBACK"):
            raise
        return status_of(error)


def _unknown(error: Any, option: str) -> str:
    """What to write instead of an option that the command has not, or which commands have it."""
    said, near = f"unknown option: {option}", get_close_matches(option, error.possibilities or (), 1, 0.7)
    if near:
        return f"{said}; did you mean {near[0]}?"
    owners = [name for name, one in parser().commands.items() if any(option in p.opts for p in one.params)]
    return f"{said}; it is for {', '.join(owners)}" if owners else said


def _instead(error: Any, words: Sequence[str]) -> str:
    """What to write instead, if the option that was refused has a decimal comma, or is epsilon."""
    names = getattr(getattr(error, "param", None), "opts", [])
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        number = re.fullmatch(r"(-?\d*),(\d+)", value if equals else following)
        if name in names and number:
            return f"; write {number[1] or 0}.{number[2]}"
    return f"; {EPSILON}" if "--epsilon" in names and type(error) is typer.BadParameter else ""


def _stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


__all__ = ["COMMANDS", "INTERRUPTED", "app", "main"]
