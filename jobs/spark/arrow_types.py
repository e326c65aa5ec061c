"""The logical types in Arrow and in Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as T

from featuredsl.dtypes import DType

ARROW_TYPES: dict[DType, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "int[]": pa.list_(pa.int64()),
    "float[]": pa.list_(pa.float64()),
    "str[]": pa.list_(pa.string()),
}
SPARK_TYPES: dict[DType, T.DataType] = {
    "int": T.LongType(),
    "float": T.DoubleType(),
    "str": T.StringType(),
    "bool": T.BooleanType(),
    "int[]": T.ArrayType(T.LongType()),
    "float[]": T.ArrayType(T.DoubleType()),
    "str[]": T.ArrayType(T.StringType()),
}
