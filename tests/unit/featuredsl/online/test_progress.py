"""Progress of stream jobs: keys, replies, which notes still count."""

from __future__ import annotations

import pytest

from featuredsl.online.progress import (
    OUTCOMES,
    REJECTED,
    StreamNote,
    current_notes,
    key,
    parse_progress,
    read_commands,
    reset_commands,
)


def test_what_the_job_writes_is_what_is_read() -> None:
    commands = read_commands("p.features-g@v", ["clicks", "views"])
    assert commands[0] == ("HMGET", "featuredsl:stream:p.features-g@v:{clicks|accepted}:X", "n", "t")
    assert len(commands) == len(reset_commands("p", ["clicks", "views"])) == 2 * len(OUTCOMES)
    replies: list[list[bytes | None]] = [[None, None]] * len(commands)
    replies[0] = [b"0000000000000000012", b"1800000000000000000"]
    replies[OUTCOMES.index("heartbeat")] = [b"0000000000000000002", b"1800000000000000009"]
    replies[OUTCOMES.index("duplicate")] = [b"0000000000000000005", b"1800000000000000010"]
    replies[OUTCOMES.index("duplicate_earlier")] = [b"0000000000000000001", b"1800000000000000011"]
    replies[OUTCOMES.index("late")] = [b"0000000000000000004", b"1700000000000000000"]
    replies[len(OUTCOMES) + OUTCOMES.index("late")] = [b"0000000000000000001", b"1700000000000000007"]
    replies[len(OUTCOMES) + OUTCOMES.index("bad_time")] = [b"0000000000000000003", b"0000000000000000000"]
    found = parse_progress(["clicks", "views"], replies)
    assert found["clicks"].counts == {
        "accepted": 12,
        "late": 4,
        "heartbeat": 2,
        "duplicate": 5,
        "duplicate_earlier": 1,
    }
    assert (found["clicks"].newest_us, found["clicks"].heartbeat_us) == (
        1_800_000_000_000_000_000,
        1_800_000_000_000_000_009,
    )
    assert (found["clicks"].rejected, found["clicks"].duplicates) == ({}, 6)
    assert found["views"].rejected == {"bad_time": 3}
    assert found["views"].newest_us == 1_700_000_000_000_000_007, "a late event is an event"
    assert parse_progress(["clicks"], [[None, None]] * len(OUTCOMES))["clicks"].newest_us is None


@pytest.mark.parametrize("reason", ["bad_json", "bad_utf8", "too_large", "missing_field", "future_time", "null_entity"])
def test_every_reason_of_a_dead_letter_is_read(reason: str) -> None:
    assert reason in REJECTED
    assert key("g", "s", reason) == f"featuredsl:stream:g:{{s|{reason}}}:X"


def note(name: str, started: int, *groups: str) -> StreamNote:
    return StreamNote(name, "id", "group", groups, {"s": "t"}, started)


def test_a_group_belongs_to_the_job_that_was_started_for_it_last() -> None:
    both, first, second = note("both", 1, "a", "b"), note("first", 2, "a"), note("second", 3, "b")
    assert current_notes([both, first, second]) == [first, second]
    assert current_notes([both, first]) == [both, first]
    assert current_notes([note("both", 9, "a", "b"), first, second]) == [note("both", 9, "a", "b")]
    assert StreamNote.from_json(both.to_json()) == both
