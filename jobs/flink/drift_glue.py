"""The monitor step as a keyed process function: rows in, rows out, state as versioned bytes. No logic of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import orjson
from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

from jobs.flink.drift_sql import EVENT, HOUR_MS, TRIGGER
from monitors.policy import MonitorConfig
from monitors.state import dumps, loads
from monitors.step import Hour, step

HOUR_TYPE = Types.ROW([Types.STRING(), Types.ROW([Types.STRING(), Types.STRING(), Types.STRING(), Types.LONG()])])
OUTPUT_TYPE = Types.ROW_NAMED(["kind", "k", "body"], [Types.STRING(), Types.STRING(), Types.STRING()])
MAX_IDLE_HOURS = 24
log = logging.getLogger(__name__)


class MonitorFunction(KeyedProcessFunction):  # type: ignore[misc]
    """Gathers the rows of a model's hour and judges them once event time has passed the end of the hour.

    After the last hour it goes on with empty ones for a day of event time, so that silence is noticed.
    """

    def __init__(self, config: MonitorConfig) -> None:
        self._config = config
        self._state: Any = None
        self._pending: Any = None

    def open(self, runtime_context: RuntimeContext) -> None:
        """Claim the keyed state."""
        data = Types.PRIMITIVE_ARRAY(Types.BYTE())
        self._state = runtime_context.get_state(ValueStateDescriptor("monitor", data))
        self._pending = runtime_context.get_map_state(MapStateDescriptor("pending", Types.STRING(), Types.STRING()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> None:
        """Keep one series' counts until its hour is complete."""
        version, series, counts, closed_ms = value
        self._pending.put(orjson.dumps([closed_ms, series, version]).decode(), counts)
        ctx.timer_service().register_event_time_timer(closed_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        """Judge the hour that ended with `timestamp`, and look at the next one too."""
        counts = {}
        for name, text in list(self._pending.items()):
            closed_ms, series, version = orjson.loads(name)
            if closed_ms == timestamp:
                counts[series, version] = orjson.loads(text)
                self._pending.remove(name)
        hour = Hour(ctx.get_current_key(), (timestamp + 1 - HOUR_MS) * 1000, counts)
        before = loads(self._state.value())
        after, output = step(before, hour, self._config)
        if after is not before:
            self._state.update(dumps(after))
        for note in output.notes:
            log.warning("%s", note)
        if after.idle < MAX_IDLE_HOURS:
            ctx.timer_service().register_event_time_timer(timestamp + HOUR_MS)
        for event in output.events:
            yield Row(EVENT, event["data"]["dedup_key"], orjson.dumps(event).decode())
        for trigger in output.triggers:
            yield Row(TRIGGER, trigger["model"], orjson.dumps(trigger).decode())
