#!/usr/bin/env bash
# Everything that the recipes need, each part only when its inputs have changed.
source "$(dirname "$0")/lib.sh"
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME
export UV_PYTHON_DOWNLOADS=never

key=$(digest pyproject.toml uv.lock)
if ! fresh venv "$key" .venv/bin/featuredsl; then
  say "Python packages (uv.lock) into .venv"
  quietly venv "$BUILD/boot/bin/uv" sync --frozen --all-extras --python "$BUILD/boot/bin/python"
  stamp venv "$key"
fi
scripts/jars.sh
scripts/redis.sh
scripts/data.sh
scripts/wheel.sh > /dev/null
