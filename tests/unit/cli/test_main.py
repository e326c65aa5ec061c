"""The command root: lazy loading, nearest names, exit codes, no traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import click
import pytest

from featuredsl.cli.main import EntryPointGroup, _load, root, run
from featuredsl.cli.summary import LIMIT, summary
from featuredsl.errors import CheckFailed, DefinitionError, DependencyError, FeatureError, InputError
from featuredsl.online.store import AsyncOnlineStore, OnlineStore

GROUPS = ("commands", "run", "ccb", "drift", "models", "alerts")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    return tmp_path


def command_that(action: BaseException | int) -> click.Command:
    def body() -> int:
        if isinstance(action, BaseException):
            raise action
        return action

    return click.Command("probe", callback=body)


@pytest.mark.parametrize(
    ("action", "code", "text"),
    [
        (0, 0, ""),
        (1, 1, ""),
        (CheckFailed("drift found"), 1, "error: drift found"),
        (InputError("no column x"), 2, "error: no column x"),
        (DefinitionError("defs.py:3: no column y"), 2, "error: defs.py:3: no column y"),
        (FeatureError("state"), 3, "error: state"),
        (DependencyError("no Kafka address"), 4, "error: no Kafka address"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.BadParameter("bad"), 2, "Error: Invalid value: bad"),
    ],
)
def test_exit_codes(
    action: BaseException | int,
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(root.commands, "probe", command_that(action))
    assert run(["probe"]) == code
    captured = capsys.readouterr()
    assert text in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_unexpected_error_names_a_log_with_the_traceback(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(root.commands, "probe", command_that(ZeroDivisionError("by zero")))
    assert run(["probe"]) == 3
    stderr = capsys.readouterr().err
    (log,) = (home / "logs").glob("error-*.log")
    assert "internal error: ZeroDivisionError: by zero" in stderr
    assert str(log) in stderr
    assert "Traceback" not in stderr
    assert "Traceback" in log.read_text()


def test_an_error_of_ours_that_ends_with_3_names_a_log_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = FeatureError("the worker died")
    error.add_note("all that the worker said")
    monkeypatch.setitem(root.commands, "probe", command_that(error))
    assert run(["probe"]) == 3
    (log,) = (home / "logs").glob("error-*.log")
    assert capsys.readouterr().err == f"error: the worker died\nlog: {log}\n"
    assert "all that the worker said" in log.read_text()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "/proc/x"),
            "/proc/x cannot be used: No such file or directory",
        ),
        (PermissionError(13, "Permission denied", "/root/x"), "/root/x cannot be used: Permission denied"),
        (OSError(28, "No space left on device", "/full/x"), "/full/x cannot be used: No space left on device"),
    ],
)
def test_a_path_that_cannot_be_used_is_bad_input(
    error: OSError, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(root.commands, "probe", command_that(error))
    assert run(["probe"]) == 2
    assert capsys.readouterr().err == f"error: {text}\n"


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), OSError(5, "I/O error", "/x"), BrokenPipeError()])
def test_other_failures_of_the_system_are_internal(
    error: OSError, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(root.commands, "probe", command_that(error))
    assert run(["probe"]) == 3
    assert "internal error" in capsys.readouterr().err
    assert len(list((home / "logs").glob("error-*.log"))) == 1


ENDLESS = """
import click, sys
from rich.console import Console
from featuredsl.cli.main import main, root
def by_click():
    while True: click.echo("y" * 1000)
def by_rich():
    while True: Console().print("y" * 1000)
def buffered():
    sys.stdout.write("y" * 100)
    sys.stdout.flush(); sys.stdin.read(); sys.stdout.write("more")
for body in (by_click, by_rich, buffered):
    root.add_command(click.Command(body.__name__, callback=body))
main()
"""


@pytest.mark.parametrize("writer", ["by_click", "by_rich", "buffered"])
def test_a_reader_that_has_gone_ends_a_command_quietly(writer: str) -> None:
    command = [sys.executable, "-c", ENDLESS, writer]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.read(10)
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["run", "serve"], "give --model NAME"),
        (["run", "serve", "--model", "m", "--port", "99999"], "99999 is not in the range 0<=x<=65535"),
        (["run", "serve", "--model", "m", "--grpc-port", "-1"], "-1 is not in the range 0<=x<=65535"),
        (["up", "--home", "/proc/x", "--only", "redis"], "/proc/x cannot be used: No such file or directory"),
    ],
)
def test_bad_options_of_services(argv: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv) == 2
    assert text in capsys.readouterr().err


def test_an_address_that_is_no_redis_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for address in ("foo", "redis://:secret@h:99999"):
        with pytest.raises(InputError, match="is not a Redis address") as raised:
            OnlineStore(address)
        assert "secret" not in str(raised.value)
        with pytest.raises(InputError, match="write it as redis://host:port"):
            AsyncOnlineStore(address)


@pytest.mark.parametrize(
    ("typed", "nearest"), [(["chek"], "check"), (["histroy"], "history"), (["run", "strean"], "stream")]
)
def test_unknown_command_gives_the_nearest(typed: list[str], nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed) == 2
    assert f"Did you mean {nearest!r}?" in capsys.readouterr().err


def test_unknown_command_without_a_near_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zzzzzz"]) == 2
    stderr = capsys.readouterr().err
    assert "No such command 'zzzzzz'" in stderr
    assert "Did you mean" not in stderr


@pytest.mark.parametrize("group", GROUPS)
def test_every_entry_point_is_a_command_with_help_and_an_example(group: str) -> None:
    entries = metadata.entry_points(group=f"featuredsl.{group}")
    assert entries
    for entry in entries:
        command = entry.load()
        assert isinstance(command, click.Command), entry.value
        assert "Example" in f"{command.help}{command.epilog}", entry.value


def test_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    for name in metadata.entry_points(group="featuredsl.commands").names | set(GROUPS[1:]):
        assert f"\n  {name} " in text
    assert "unavailable" not in text


def test_a_command_that_cannot_be_imported_does_not_break_help(capsys: pytest.CaptureFixture[str]) -> None:
    missing = metadata.EntryPoint("gone", "featuredsl_no_such_module:command", "featuredsl.commands")
    group = EntryPointGroup(name="g", entry_points="featuredsl.none")
    group.list_commands = lambda ctx: ["gone"]  # type: ignore[method-assign]
    group.get_command = lambda ctx, name: _load(missing)  # type: ignore[method-assign]
    with pytest.raises(SystemExit) as stop:
        group.main(["--help"], prog_name="g")
    assert stop.value.code == 0
    assert "unavailable" in capsys.readouterr().out


def test_loading_one_command_imports_no_other_and_no_engine() -> None:
    script = (
        "import sys; from featuredsl.cli.main import run; code = run(['status', '--help']);"
        "heavy = {'pyflink', 'pyspark', 'mlflow', 'vowpalwabbit', 'jobs.spark', 'jobs.training', 'serving', 'pandas'};"
        "print('LOADED', sorted(heavy & set(sys.modules)), code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED [] 0"


def cpu_seconds(code: str, env: Mapping[str, str]) -> float:
    """User CPU time of an interpreter that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=env)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


HEAVY = ("numpy", "pandas", "pyarrow", "duckdb", "pyflink", "pyspark", "datasketches", "click", "rich", "redis")


def test_import_of_the_package_is_light() -> None:
    script = f"import sys, featuredsl; print(sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_import_of_the_package_is_quick(tmp_path: Path) -> None:
    """With compiled files, as an installed package has them; the least of several runs, which other work disturbs
    least. Where the machine is slow, so is the start of an interpreter: the import takes about twice as long, and may
    take four times."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    times = [(cpu_seconds("pass", env), cpu_seconds("import featuredsl", env)) for _ in range(7)]
    start, whole = min(one for one, _ in times), min(one for _, one in times)
    print(f"import featuredsl: {(whole - start) * 1e3:.0f} ms of CPU; the interpreter starts in {start * 1e3:.0f} ms")
    assert whole - start < max(0.15, 4 * start)


def test_help_imports_no_command() -> None:
    names = [entry.module for group in GROUPS for entry in metadata.entry_points(group=f"featuredsl.{group}")]
    script = (
        "import sys; from featuredsl.cli.main import run; run(['--help']); run(['run', '--help']);"
        f"print(sorted(set({names}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("group", GROUPS)
def test_help_tells_what_the_command_tells(group: str) -> None:
    entries = metadata.entry_points(group=f"featuredsl.{group}")
    assert {entry.name: summary(entry) for entry in entries} == {
        entry.name: entry.load().get_short_help_str(LIMIT) for entry in entries
    }
