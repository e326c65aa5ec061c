"""`featuredsl init`: a working project of one's own."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from featuredsl.errors import InputError

PLACES = {
    "definitions.py": "definitions.py",
    "clicks.jsonl": "data/clicks.jsonl",
    "labels.csv": "data/labels.csv",
    "test_features.py": "tests/test_features.py",
    "README.md": "README.md",
}
"""Template to its place in the project."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
def init(folder: Path) -> None:
    """Write a working project into DIR: definitions, sample events and labels, a test, a README.

    Nothing that is there is overwritten. Example: featuredsl init my-features
    """
    targets = {name: folder / place for name, place in PLACES.items()}
    there = [str(path) for path in targets.values() if path.exists()]
    if there or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{', '.join(there) or folder} exists already; choose another folder")
    templates = resources.files("featuredsl.starter")
    for name, path in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((templates / f"{name}.tmpl").read_text(encoding="utf-8"), encoding="utf-8")
        click.echo(str(path))
    click.echo(f"next: cd {folder} && pytest tests")
