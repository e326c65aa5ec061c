"""The registry: idempotent, bounded, crash-safe, on URLs, and old formats."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from featuredsl import files as files_module
from featuredsl.errors import DependencyError, InputError, StateError
from featuredsl.files import LocalFiles
from featuredsl.loader import load_definitions
from featuredsl.registry import INDEX, Registry, apply, history, vanished
from featuredsl.registry_index import KEPT

GOLDEN = Path(__file__).parents[2] / "golden" / "registry"
SOURCE = '''
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"u": str, "x": int})

@feature_group(name="g", entity="u", owner="a")
class G:
    """Docs."""

    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()
'''
ON_DEMAND = """
    @on_demand(inputs=["n"])
    def twice(n: int) -> int:
        return 2 * n
"""


def write(tmp_path: Path, source: str = SOURCE) -> Path:
    file = tmp_path / "definitions.py"
    file.write_text(source, encoding="utf-8")
    return file


def index(root: Path) -> dict[str, dict[str, object]]:
    groups: dict[str, dict[str, object]] = json.loads((root / INDEX).read_text())["groups"]
    return groups


def test_a_second_apply_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path), at_us=1)
    before = (root / INDEX).read_bytes()
    assert apply(root, write(tmp_path), at_us=2) == first
    assert (root / INDEX).read_bytes() == before
    assert [v.applied_us for v in history(root, "g")] == [1]


def test_versions_are_kept_with_their_times(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    apply(root, write(tmp_path), at_us=1)
    apply(root, write(tmp_path, SOURCE.replace("1h", "2h")), at_us=2)
    found = history(root, "g")
    assert [v.applied_us for v in found] == [2, 1]
    assert len({v.version for v in found}) == 2
    assert len(list(root.glob("*.py"))) == 2
    with pytest.raises(InputError, match="group 'h' is not in 'the registry'; it has: g"):
        history(root, "h")


def test_docs_and_on_demand_features_keep_the_store_version(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path), at_us=1)
    assert apply(root, write(tmp_path, SOURCE.replace("Docs", "More")), at_us=2) == first
    assert len(history(root, "g")) == 1
    assert apply(root, write(tmp_path, SOURCE + ON_DEMAND), at_us=3) == first
    registry = Registry.load(root)
    assert registry.group("g").feature_names == ("n", "twice")
    assert registry.group("g").version != first["g"] == registry.store_versions["g"]


def test_values_of_an_earlier_version_are_read_with_its_definition(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path), at_us=1)["g"]
    before = Registry.load(root)
    second = apply(root, write(tmp_path, SOURCE.replace("1h", "2h") + ON_DEMAND), at_us=2)["g"]
    registry = Registry.load(root)
    for version in (first, f"{first}-r20260101T000000"):
        assert str(registry.plan_of("g", version).features[0].window) == "1h"
        assert registry.plan_of("g", version).feature_names == ("n",)
    for version in (second, f"{second}-r20260101T000000", "another"):
        assert registry.plan_of("g", version) is registry.group("g")
    # a process that loaded the registry before the change finds the new definition when readers move
    assert before.plan_of("g", second).feature_names == ("n", "twice")
    with pytest.raises(InputError, match="group 'h' is not in 'the registry'; it has: g"):
        registry.plan_of("h", first)


def test_going_back_takes_a_store_version_of_its_own(tmp_path: Path) -> None:
    """What was written under the old one has a gap since then."""
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path), at_us=1)["g"]
    second = apply(root, write(tmp_path, SOURCE.replace("1h", "2h")), at_us=2)["g"]
    third = apply(root, write(tmp_path), at_us=3)["g"]
    assert len({first, second, third}) == 3
    assert third == f"{first}-2"
    assert apply(root, write(tmp_path), at_us=4)["g"] == third


def test_many_applies_stay_small(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    versions = [SOURCE, SOURCE.replace("1h", "2h")]
    for number in range(30):
        apply(root, write(tmp_path, versions[number % 2] + f"# {number}\n"), at_us=1000 + number)
    sizes = (root / INDEX).stat().st_size
    assert len(history(root, "g")) == KEPT + 1
    assert len(LocalFiles(root).names()) == KEPT + 2
    for number in range(30, 36):
        apply(root, write(tmp_path, versions[number % 2] + f"# {number}\n"), at_us=1000 + number)
    # the numbers of store versions have 0 to 2 digits; of each that is not kept a name stays
    assert abs((root / INDEX).stat().st_size - sizes) <= 2 * KEPT + 6 * 30
    assert Registry.load(root).group("g").feature_names == ("n",)


def test_a_version_that_is_not_kept_is_never_read_with_another_definition(tmp_path: Path) -> None:
    """Readers stay on the first version while many others are applied: its values have only one meaning."""
    root = tmp_path / "registry"

    def nth(number: int) -> str:
        return apply(root, write(tmp_path, SOURCE.replace("1h", f"{number + 1}h")), at_us=number)["g"]

    made = [nth(number) for number in range(KEPT + 2)]
    registry = Registry.load(root)
    assert [str(registry.plan_of("g", made[number]).features[0].window) for number in (1, 2)] == ["2h", "3h"]
    for version in (made[0], f"{made[0]}-r20260101T000000"):
        with pytest.raises(StateError, match=rf"g@{made[0]} is not kept .* `featuredsl run stream --group g`, or `fea"):
            registry.plan_of("g", version)
    assert registry.plan_of("g", "another") is registry.group("g")
    assert nth(0) == f"{made[0]}-2"  # the name of the first is not given again
    assert nth(1) == f"{made[1]}-2"
    nth(30)
    for number in range(40, 40 + KEPT):  # nor that of its second
        nth(number)
    assert nth(0) == f"{made[0]}-3"


def test_a_removed_group_keeps_the_names_that_it_had(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path, SOURCE + OTHER), at_us=1)["h"]
    for number in range(KEPT + 2):
        apply(root, write(tmp_path, SOURCE + OTHER.replace("2h", f"{number + 3}h")), at_us=number)
    apply(root, write(tmp_path), at_us=100, remove=True)
    assert apply(root, write(tmp_path, SOURCE + OTHER), at_us=101)["h"] == f"{first}-2"
    with pytest.raises(StateError, match=f"h@{first} is not kept"):
        Registry.load(root).plan_of("h", first)


def test_a_thousand_applies_of_the_same_write_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, file = tmp_path / "registry", write(tmp_path)
    apply(root, file, at_us=0)
    groups = Registry.load(root).groups
    written: list[str] = []
    monkeypatch.setattr("featuredsl.registry.load_definitions", lambda path: groups)
    monkeypatch.setattr(LocalFiles, "replace", lambda self, name, content: written.append(name))
    for number in range(1_000):
        apply(root, file, at_us=number)
    assert written == []
    assert len(LocalFiles(root).names()) == 2


def test_a_crash_between_the_writes_leaves_the_old_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path))
    real = LocalFiles.replace

    def failing(self: LocalFiles, name: str, content: bytes) -> None:
        if name == INDEX:
            raise OSError("disk full")
        real(self, name, content)

    monkeypatch.setattr(LocalFiles, "replace", failing)
    with pytest.raises(OSError, match="disk full"):
        apply(root, write(tmp_path, SOURCE.replace("1h", "2h")))
    monkeypatch.undo()
    assert Registry.load(root).store_versions == first
    second = apply(root, write(tmp_path, SOURCE.replace("1h", "2h")))
    assert Registry.load(root).store_versions == second != first


def test_a_failed_rename_leaves_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalFiles(tmp_path)
    files.replace("a", b"old")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        files.replace("a", b"new")
    assert files.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("number", [1, 2])
def test_golden_registries_of_every_format_are_read(number: int, tmp_path: Path) -> None:
    """VERSION stands for the fingerprint, which may change with the release; the format may not."""
    root = tmp_path / "registry"
    root.mkdir()
    version = load_definitions(write(tmp_path))["g"].version
    data = json.loads((GOLDEN / f"format_{number}.json").read_text().replace("VERSION", version))
    assert data["format"] == number
    for name, text in {INDEX: json.dumps(data), **{data["groups"]["g"]["file"]: SOURCE}}.items():
        (root / name).write_text(text, encoding="utf-8")
    registry = Registry.load(root)
    assert registry.store_versions == {"g": data["groups"]["g"]["store_version"]}
    assert apply(root, write(tmp_path), store_suffix="r1", at_us=5) == registry.store_versions
    assert apply(root, write(tmp_path, SOURCE + ON_DEMAND), store_suffix="r1", at_us=6)["g"].endswith("-r1")
    assert [v.version for v in history(root, "g")][1:] == [data["groups"]["g"]["version"]]


def test_unknown_formats_and_other_definitions_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    with pytest.raises(InputError, match="no feature group is applied"):
        Registry.load(root)
    apply(root, write(tmp_path))
    (file,) = root.glob("*.py")
    file.write_text(SOURCE.replace("1h", "3h"), encoding="utf-8")
    with pytest.raises(StateError, match="run `featuredsl apply` again"):
        Registry.load(root)
    assert dict(Registry.readable(root).groups) == {}
    file.write_text("import nothing_of_the_kind\n", encoding="utf-8")
    assert dict(Registry.readable(root).groups) == {}
    apply(root, write(tmp_path))
    assert list(Registry.readable(root).groups) == ["g"]
    (root / INDEX).write_text('{"format": 3, "groups": {}}')
    with pytest.raises(StateError, match="format 3; this release reads 1 and 2"):
        Registry.load(root)


OTHER = """
@feature_group(name="h", entity="u")
class H:
    @feature(freshness="realtime", window="2h")
    def m(e: events) -> int:
        return e.count()
"""


def test_a_group_that_left_its_file_stays_until_it_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path, SOURCE + OTHER), at_us=1)
    assert vanished(root, write(tmp_path, SOURCE + OTHER), ["g", "h"]) == {}
    file = write(tmp_path)
    assert vanished(root, file, ["g"]) == {"h": first["h"]}
    for number in (2, 3):  # still so when the copies have nothing in common any more
        assert apply(root, file, at_us=number) == {"g": first["g"]}
        assert vanished(root, file, ["g"]) == {"h": first["h"]}
    assert Registry.load(root).store_versions == first
    assert apply(root, file, at_us=4, remove=True) == {"g": first["g"]}
    assert list(Registry.load(root).groups) == ["g"]
    assert vanished(root, file, ["g"]) == {}


def test_a_group_that_comes_back_takes_a_store_version_of_its_own(tmp_path: Path) -> None:
    """The old one has a gap since it was removed."""
    root = tmp_path / "registry"
    first = apply(root, write(tmp_path, SOURCE + OTHER), at_us=1)
    apply(root, write(tmp_path), at_us=2, remove=True)
    again = apply(root, write(tmp_path, SOURCE + OTHER), at_us=3)
    assert again == {"g": first["g"], "h": f"{first['h']}-2"}
    assert [(v.store_version, v.applied_us) for v in history(root, "h")] == [(again["h"], 3), (first["h"], 1)]
    assert apply(root, write(tmp_path, SOURCE + OTHER), at_us=4) == again


def test_groups_of_other_files_are_not_missed(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    apply(root, write(tmp_path), at_us=1)
    other = tmp_path / "other.py"
    other.write_text(SOURCE.replace('name="g"', 'name="k"'), encoding="utf-8")
    apply(root, other, at_us=2)
    assert vanished(root, other, ["k"]) == vanished(root, write(tmp_path), ["g"]) == {}
    moved = tmp_path / "other.py"
    moved.write_text(SOURCE.replace('name="g"', 'name="k"') + OTHER, encoding="utf-8")
    apply(root, moved, at_us=3)
    both = write(tmp_path, SOURCE + OTHER)
    apply(root, both, at_us=4)  # h moved: it now comes from the other file
    assert vanished(root, moved, ["k"]) == {}


def test_a_file_that_lies_elsewhere_is_known_by_its_copy(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "registry", tmp_path / "checkout"
    elsewhere.mkdir()
    first = apply(root, write(tmp_path, SOURCE + OTHER), at_us=1)
    assert vanished(root, write(elsewhere), ["g"]) == {"h": first["h"]}
    apply(root, write(elsewhere), at_us=2)
    assert vanished(root, write(elsewhere), ["g"]) == {"h": first["h"]}


def test_applies_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    root, count = tmp_path / "registry", 8
    code = (
        "import sys; from pathlib import Path; from featuredsl.registry import apply;"
        "sys.stdin.read(); apply(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    running = []
    for number in range(count):
        file = tmp_path / f"d{number}.py"
        file.write_text(SOURCE.replace('name="g"', f'name="g{number}"'), encoding="utf-8")
        command = [sys.executable, "-c", code, str(root), str(file)]
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE))
    for process in running:  # they wait for the end of their input, so they start together
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(120) for process in running] == [0] * count
    assert sorted(Registry.load(root).groups) == [f"g{number}" for number in range(count)]
    assert len(LocalFiles(root).names()) == count + 1


def test_a_lock_that_is_held_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "LOCK_WAIT_S", 0.1)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from featuredsl.files import LocalFiles\n"
            "with LocalFiles(Path(sys.argv[1])).exclusive(): print('held', flush=True); sys.stdin.read()",
            str(tmp_path / "registry"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(DependencyError, match=rf"lock is held by process {holder.pid} for more than 0.1 s; wait"):
        apply(tmp_path / "registry", write(tmp_path))
    holder.kill()  # its lock goes with it
    holder.wait()
    assert list(apply(tmp_path / "registry", write(tmp_path))) == ["g"]


class MemoryFs:
    """As much of an fsspec file system as an object store gives."""

    store: ClassVar[dict[str, bytes]] = {}

    def cat_file(self, path: str) -> bytes:
        if path not in self.store:
            raise FileNotFoundError(path)
        return self.store[path]

    def pipe_file(self, path: str, content: bytes) -> None:
        self.store[path] = content

    def makedirs(self, path: str, exist_ok: bool) -> None:
        return None

    def ls(self, path: str, detail: bool) -> list[str]:
        return [name for name in self.store if name.startswith(path.rstrip("/") + "/")]

    def rm_file(self, path: str) -> None:
        self.store.pop(path)


def url_round_trip(root: str, tmp_path: Path) -> None:
    first = apply(root, write(tmp_path), at_us=1)
    assert apply(root, write(tmp_path), at_us=2) == first
    assert Registry.load(root).store_versions == first
    second = apply(root, write(tmp_path, SOURCE.replace("1h", "2h")), at_us=3)
    registry = Registry.load(root)
    assert registry.store_versions == second != first
    assert str(registry.group("g").location).endswith(".py:6")


def test_a_registry_at_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(core=SimpleNamespace(url_to_fs=lambda url: (MemoryFs(), url.partition("://")[2])))
    monkeypatch.setitem(sys.modules, "fsspec", fake)
    monkeypatch.delitem(sys.modules, "featuredsl.remote_files", raising=False)
    MemoryFs.store.clear()
    url_round_trip("memory://bucket/registry", tmp_path)
    assert len(MemoryFs.store) == 3
    monkeypatch.delitem(sys.modules, "featuredsl.remote_files")


def test_a_registry_through_fsspec_itself(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    url_round_trip(f"memory://{tmp_path.name}/registry", tmp_path)


def test_file_urls_are_local(tmp_path: Path) -> None:
    url_round_trip(f"file://{tmp_path}/registry", tmp_path)
    assert (tmp_path / "registry" / INDEX).is_file()


def test_a_url_without_fsspec_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.delitem(sys.modules, "featuredsl.remote_files", raising=False)
    with pytest.raises(DependencyError, match=r"featuredsl\[remote\]"):
        apply("s3://bucket/registry", write(tmp_path))


HELPER = SOURCE.replace("@feature_group", "def scaled(x):\n    return x * 3\n\n@feature_group") + (
    '    @on_demand(inputs=["n"])\n    def f(n: int) -> int:\n        return scaled(n)\n'
)
READER = """
import sys
from pathlib import Path
from featuredsl.ondemand import compute
from featuredsl.registry import Registry

(feature,) = Registry.load(Path(sys.argv[1])).group("g").on_demand
print(compute(feature, {"n": 2}))
"""


def test_a_clean_process_computes_with_the_helpers(tmp_path: Path) -> None:
    apply(tmp_path / "registry", write(tmp_path, HELPER))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(tmp_path / "registry")],
        env={"PYTHONPATH": str(GOLDEN.parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("6\n", "")


class CrowdedFs(MemoryFs):
    """Others replace the index at one moment of an apply: just before its last look at it, or just after its write."""

    moment: ClassVar[str] = ""
    others: ClassVar[list[Path]] = []
    reads: ClassVar[list[str]] = []

    def cat_file(self, path: str) -> bytes:
        if path.endswith(INDEX):
            self.reads.append(path)
            if self.moment == "before" and len(self.reads) == 2:
                self.another()
        return super().cat_file(path)

    def pipe_file(self, path: str, content: bytes) -> None:
        before = dict(self.store)
        super().pipe_file(path, content)
        if path.endswith(INDEX) and self.moment == "after" and self.others:
            self.store.clear()
            self.store.update(before)  # the other one had read the old index
            self.another()

    def another(self) -> None:
        if self.others:
            apply("crowd://bucket/registry", self.others.pop())


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_index_that_changes_meanwhile_is_not_overwritten(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = SimpleNamespace(core=SimpleNamespace(url_to_fs=lambda url: (CrowdedFs(), url.partition("://")[2])))
    monkeypatch.setitem(sys.modules, "fsspec", fake)
    monkeypatch.delitem(sys.modules, "featuredsl.remote_files", raising=False)
    MemoryFs.store.clear()
    apply("crowd://bucket/registry", write(tmp_path))
    other, third = tmp_path / "other.py", tmp_path / "third.py"
    other.write_text(SOURCE.replace('name="g"', 'name="k"'), encoding="utf-8")
    third.write_text(SOURCE.replace('name="g"', 'name="l"'), encoding="utf-8")
    CrowdedFs.moment, CrowdedFs.others = moment, [other]
    CrowdedFs.reads.clear()
    apply("crowd://bucket/registry", third)
    assert CrowdedFs.others == []
    assert sorted(Registry.load("crowd://bucket/registry").groups) == ["g", "k", "l"]
    monkeypatch.delitem(sys.modules, "featuredsl.remote_files")
