#!/usr/bin/env bash
# The wheel that is shipped to the engines; built again only when a source has changed. Prints its path.
source "$(dirname "$0")/lib.sh"
exec .venv/bin/python -m jobs.wheel
