"""Bytewax's side of the stream benchmark, for its own environment: counts and sums by user and tile, to Redis.

`python -m bytewax.run stream_bytewax.py:flow -i NUMBER -a ADDRESSES`. Events come in batches; each batch of a user
gives one row of each changed tile with the newest count and sum, as a mini-batch does, and rows go to Redis in
pipelines. Without recovery: nothing is kept for a restart.
"""

import os

import bytewax.operators as op
import orjson
import redis
from bytewax.connectors.kafka import KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition

TILE_MS = 300_000
BATCH = 5_000


class Tiles(StatefulBatchLogic):
    """Counts and sums of the tiles of one user; those of the last hour are kept."""

    def __init__(self, state):
        self.tiles = state or {}

    def on_batch(self, values):
        """Add the events; give each tile that has changed."""
        changed = set()
        for ts, amount in values:
            tile = ts // TILE_MS
            count, total = self.tiles.get(tile, (0, 0.0))
            self.tiles[tile] = (count + 1, total + amount)
            changed.add(tile)
        rows = [(tile, *self.tiles[tile]) for tile in changed]
        rows[-1] += (len(values),)
        if len(self.tiles) > 13:
            oldest = max(self.tiles) - 13
            self.tiles = {tile: state for tile, state in self.tiles.items() if tile >= oldest}
        return rows, StatefulBatchLogic.RETAIN

    def snapshot(self):
        """What recovery would keep."""
        return dict(self.tiles)


class RedisPartition(StatelessSinkPartition):
    """Rows to hashes by user, a pipeline for each batch."""

    def __init__(self):
        self.client = redis.Redis.from_url(os.environ["BENCH_REDIS"])

    def write_batch(self, items):
        """Write; also count the events that the rows stand for."""
        done = 0
        with self.client.pipeline(transaction=False) as pipe:
            for user, (tile, count, total, *events) in items:
                pipe.hset(f"peer:{{{user}}}", tile, f"{count};{total!r}")
                done += sum(events)
            pipe.incrby("peer-done", done)
            pipe.execute()


class RedisSink(DynamicSink):
    """One connection for each worker."""

    def build(self, step_id, worker_index, worker_count):
        """The worker's own."""
        return RedisPartition()


def _event(message):
    event = orjson.loads(message.value)
    return event["user_id"], (event["ts"], event["amount"])


def _events(messages):
    return [_event(message) for message in messages]


flow = Dataflow("bench")
read = op.input("in", flow, KafkaSource([os.environ["BENCH_KAFKA"]], [os.environ["BENCH_TOPIC"]], batch_size=BATCH))
parsed = op.flat_map_batch("parse", read, _events)
tiles = op.stateful_batch("tiles", parsed, Tiles)
op.output("out", tiles, RedisSink())
