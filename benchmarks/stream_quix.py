"""Quix Streams' side of the stream benchmark, for its own environment: counts and sums by user and tile, to Redis.

Its tumbling windows publish at every event (`current`); the sink keeps the newest row of each user and tile, and writes
them in pipelines at each commit. Two of these processes share the topic. Changelog topics are on, as by default:
without them a rebalance, as when the second process starts, loses counts.
"""

import os
import tempfile

import redis
from quixstreams import Application
from quixstreams.dataframe.windows import Count, Sum
from quixstreams.sinks import BatchingSink

TILE_MS = 300_000


class RedisSink(BatchingSink):
    """Rows to hashes by user, a pipeline for each batch."""

    def setup(self):
        """Connect."""
        self.client = redis.Redis.from_url(os.environ["BENCH_REDIS"])

    def write(self, batch):
        """Write the newest row of each place; also count the events."""
        newest, done = {}, 0
        for item in batch:
            newest[item.key, item.value["start"] // TILE_MS] = item.value
            done += 1
        with self.client.pipeline(transaction=False) as pipe:
            for (user, tile), value in newest.items():
                pipe.hset(f"peer:{{{_text(user)}}}", tile, f"{value['n']};{value['total']!r}")
            pipe.incrby("peer-done", done)
            pipe.execute()


def _text(key):
    return key.decode() if isinstance(key, bytes) else key


def main():
    """Follow the topic until killed."""
    with tempfile.TemporaryDirectory() as folder:
        app = Application(
            broker_address=os.environ["BENCH_KAFKA"],
            consumer_group="quix-bench",
            auto_offset_reset="earliest",
            state_dir=folder,
            commit_every=5_000,
            commit_interval=1.0,
            loglevel="WARNING",
        )
        topic = app.topic(
            os.environ["BENCH_TOPIC"], key_deserializer="str", timestamp_extractor=lambda value, *_: value["ts"]
        )
        frame = app.dataframe(topic)
        windows = frame.tumbling_window(TILE_MS, grace_ms=TILE_MS).agg(n=Count(), total=Sum("amount")).current()
        windows.sink(RedisSink())
        app.run()


if __name__ == "__main__":
    main()
