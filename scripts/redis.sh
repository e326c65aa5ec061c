#!/usr/bin/env bash
# A Redis server: the one on the PATH, else Debian's package unpacked under build/redis (nothing is installed).
source "$(dirname "$0")/lib.sh"
TARGET=$BUILD/redis

command -v redis-server > /dev/null 2>&1 && exit 0
[ -x "$TARGET/redis-server" ] && exit 0
need apt-get "install redis-server 7 or newer and put it on the PATH"
need dpkg "install redis-server 7 or newer and put it on the PATH"

say "Redis from the Debian packages"
rm -rf "$TARGET.new"
mkdir -p "$TARGET.new"
fetch() { (cd "$TARGET.new" && apt-get download redis-tools libjemalloc2 liblzf1); }
if ! fetch > "$BUILD/logs/redis.log" 2>&1; then
  quietly redis apt-get update
  quietly redis fetch
fi
for package in "$TARGET.new"/*.deb; do
  dpkg -x "$package" "$TARGET.new/root"
done
library=$(dirname "$(find "$TARGET.new/root" -name 'libjemalloc.so.2' | head -n 1)")
binary=$(find "$TARGET.new/root" -name redis-check-rdb | head -n 1)
[ -n "$binary" ] || die "the package redis-tools holds no Redis binary; install redis-server 7 or newer"
mkdir "$TARGET.new/lib"
cp -a "$library"/*.so* "$TARGET.new/lib/"
cp -L "$binary" "$TARGET.new/redis-server" # one binary, the name decides what it does
rm -rf "$TARGET.new/root" "$TARGET.new"/*.deb "$TARGET"
mv "$TARGET.new" "$TARGET"
LD_LIBRARY_PATH=$TARGET/lib "$TARGET/redis-server" --version > /dev/null || die "the unpacked redis-server does not start"
