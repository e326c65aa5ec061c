#!/usr/bin/env bash
# The Open Bandit sample (arXiv 2008.07146, Apache-2.0): part of the obp wheel, fetched as a package and unzipped.
source "$(dirname "$0")/lib.sh"
TARGET=$BUILD/obp
VERSION=0.4.1

fresh obp "$VERSION" "$TARGET/obp" && exit 0
say "Open Bandit sample (obp $VERSION)"
rm -rf "$TARGET.new"
quietly obp "$BUILD/boot/bin/python" -m pip download -q --no-deps --no-binary :none: --dest "$TARGET.new" "obp==$VERSION"
"$BUILD/boot/bin/python" -m zipfile -e "$TARGET.new/obp-$VERSION-py3-none-any.whl" "$TARGET.new"
rm -rf "$TARGET"
mv "$TARGET.new" "$TARGET"
stamp obp "$VERSION"
