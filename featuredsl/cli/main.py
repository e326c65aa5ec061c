"""`featuredsl`: the root command. Commands are entry points, and each is imported only when asked for."""

from __future__ import annotations

import errno
import os
import select
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from featuredsl.cli.summary import LIMIT, summary
from featuredsl.errors import DependencyError, FeatureError
from featuredsl.settings import Settings

COMMANDS = "featuredsl.commands"
INTERRUPTED = 130
INTERNAL_ERROR = 3
USAGE_ERROR = 2
CLOSED_PIPE = 141
PATH_ERRORS = (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, PermissionError)
PATH_CODES = (errno.ENOSPC, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP)


@cache
def installed(group: str) -> metadata.EntryPoints:
    """The entry points of a group; finding them reads a file of every installed package."""
    return metadata.entry_points(group=group)


class EntryPointGroup(click.Group):
    """A group whose commands are the entry points of one entry point group."""

    def __init__(self, *args: Any, entry_points: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._group = entry_points

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted({*self.commands, *installed(self._group).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command. Raises DependencyError when its package is not installed."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        found = installed(self._group).select(name=cmd_name)
        return _load(next(iter(found))) if found else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name when there is no such command."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            near = get_close_matches(args[0], names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint} See `{ctx.command_path} --help`.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line for each command; a command whose package is missing says so instead of failing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._short_help(ctx, name)) for name in self.list_commands(ctx)])

    def _short_help(self, ctx: click.Context, name: str) -> str:
        for entry in installed(self._group).select(name=name):
            if (text := summary(entry)) is not None:
                return text
        try:
            command = self.get_command(ctx, name)
        except DependencyError as error:
            return f"(unavailable: {error})"
        return command.get_short_help_str(limit=LIMIT) if command else ""


def _load(entry: metadata.EntryPoint) -> click.Command:
    try:
        command = entry.load()
    except (ImportError, AttributeError) as error:
        msg = f"the command {entry.name!r} cannot be loaded ({error}); install `featuredsl[all]`"
        raise DependencyError(msg) from error
    if not isinstance(command, click.Command):
        msg = f"the entry point {entry.value} of {entry.group} is not a click command"
        raise FeatureError(msg)
    return command


def _subgroup(name: str, help_text: str) -> EntryPointGroup:
    return EntryPointGroup(name=name, entry_points=f"featuredsl.{name}", help=help_text)


class RootGroup(EntryPointGroup):
    """The root; here a closed pipe ends quietly, where click and rich would end with 1, as a failed check does."""

    def invoke(self, ctx: click.Context) -> Any:
        """As click does."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as error:
            broken = error if isinstance(error, BrokenPipeError) else error.__context__
            if not isinstance(broken, BrokenPipeError) or not (isinstance(error, SystemExit) or _reader_gone()):
                raise
            _silence()
            ctx.exit(CLOSED_PIPE)
        return result


def _reader_gone() -> bool:
    """True when standard output is a pipe that nobody reads any more, not when a socket broke."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLERR)
    except (OSError, ValueError):
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _silence() -> None:
    """Let what is still buffered go nowhere: the interpreter flushes it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


root = RootGroup(
    name="featuredsl",
    entry_points=COMMANDS,
    help="Features, bandit training data, monitoring and scoring: one definition, every engine.\n\n"
    "Example: featuredsl demo",
)
click.version_option(package_name="featuredsl", prog_name="featuredsl")(root)
for _name, _help in (
    ("run", "Start a long-running job or service.\n\nExample: featuredsl run stream --help"),
    ("ccb", "Join, train, gate and score bandit examples in files.\n\nExample: featuredsl ccb join --help"),
    ("drift", "Compare distributions in files.\n\nExample: featuredsl drift compare --help"),
    ("models", "The model registry.\n\nExample: featuredsl models list"),
    ("dlq", "Records that were refused: show them, send them again.\n\nExample: featuredsl dlq list"),
    ("alerts", "Alert consumers.\n\nExample: featuredsl alerts test"),
):
    root.add_command(_subgroup(_name, _help))


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit with the code of contract: 0, 1, 2, 3, 4 or 130; never a traceback.

    141, as of a process that SIGPIPE ends, when the reader of standard output has gone (`| head`).
    """
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        result = root.main(args=list(argv), prog_name="featuredsl", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return USAGE_ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except FeatureError as error:
        log = f"\nlog: {_write_log(argv)}" if error.exit_code == INTERNAL_ERROR else ""
        click.echo(f"error: {error}{log}", err=True)
        return error.exit_code
    except OSError as error:
        return _unusable_file(error, argv)
    except Exception as error:
        return _internal(error, argv)
    return result if isinstance(result, int) else 0


def _unusable_file(error: OSError, argv: Sequence[str]) -> int:
    """A path that cannot be read or written is bad input; other failures of the system are internal."""
    if error.filename is None or (not isinstance(error, PATH_ERRORS) and error.errno not in PATH_CODES):
        return _internal(error, argv)
    click.echo(f"error: {error.filename} cannot be used: {error.strerror}", err=True)
    return USAGE_ERROR


def _internal(error: Exception, argv: Sequence[str]) -> int:
    click.echo(f"internal error: {type(error).__name__}: {error}\nlog: {_write_log(argv)}", err=True)
    return INTERNAL_ERROR


def _write_log(argv: Sequence[str]) -> Path | str:
    """Keep the traceback of the exception being handled; returns where."""
    at = datetime.now(UTC)
    text = f"{at.isoformat()}\nfeaturedsl {' '.join(argv)}\n\n{traceback.format_exc()}"
    try:
        folder = Settings.load().logs
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"error-{at:%Y%m%dT%H%M%S%f}.log"
        path.write_text(text, encoding="utf-8")
    except (OSError, FeatureError) as error:
        return f"could not be written ({error})"
    return path


if __name__ == "__main__":
    main()
