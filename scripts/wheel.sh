#!/usr/bin/env bash
# The wheel that is shipped to the engines; built again only when a source has changed. Prints its path.
source "$(dirname "$0")/lib.sh"
TARGET=$BUILD/wheel
PACKAGES=(featuredsl schemas monitors jobs serving localstack examples)

key=$(digest pyproject.toml LICENSE README.md "${PACKAGES[@]}")
if ! fresh wheel "$key" "$TARGET"; then
  say "wheel"
  rm -rf "$TARGET.new" "$BUILD/lib" "$BUILD"/bdist.*
  quietly wheel .venv/bin/python -m build --wheel --no-isolation --outdir "$TARGET.new" .
  rm -rf "$TARGET"
  mv "$TARGET.new" "$TARGET"
  stamp wheel "$key"
fi
ls -t "$TARGET"/featuredsl-*.whl | head -n 1
