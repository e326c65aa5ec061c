from __future__ import annotations

import json
import subprocess
import sys

FORBIDDEN = ("vowpalwabbit", "mlflow", "pyspark", "pyflink", "py4j", "pandas", "pyarrow", "duckdb")
CODE = """
import json, sys
import serving.cli
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def test_a_service_loads_no_trainer_and_no_engine() -> None:
    output = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True, timeout=120)
    loaded = set(json.loads(output.stdout))
    assert {"starlette", "grpc", "onnxruntime"} <= loaded
    assert loaded.isdisjoint(FORBIDDEN)
