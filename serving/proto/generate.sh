#!/bin/sh
# Regenerates the committed stubs: sh serving/proto/generate.sh (grpcio-tools 1.65, from the repository root).
set -eu
cd "$(dirname "$0")/../.."
"${PYTHON:-python}" -m grpc_tools.protoc -I . --python_out=. --pyi_out=. --grpc_python_out=. \
  serving/proto/featuredsl/v1/scoring.proto serving/proto/inference/open_inference.proto
