"""Keying a stream without a Python operator of its own.

`DataStream.key_by` of PyFlink puts a Python operator before the exchange, only to put the key beside the row; a
second Python process per subtask is most of what a small job costs. Here the rows come as (key, value) already.
"""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedStream
from pyflink.java_gateway import get_gateway


def keyed_by_first(stream: DataStream) -> KeyedStream:
    """A stream of rows (STRING key, value), keyed by the key, as `KeyedStream.process` of PyFlink 2.2 reads it."""
    key_type = Types.ROW([Types.STRING()])
    selector = get_gateway().jvm.org.apache.flink.streaming.api.functions.python.KeyByKeySelector()
    java_stream = stream._j_data_stream.keyBy(selector, key_type.get_java_type_info())
    return KeyedStream(java_stream, stream.get_type(), stream)
