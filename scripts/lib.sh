# Helpers of the setup scripts; sourced, not run. Everything goes under build/, which git ignores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
BUILD=build
mkdir -p "$BUILD/stamps" "$BUILD/logs"

say() { printf '  %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 4; }

need() { # need COMMAND WHAT-TO-DO
  command -v "$1" > /dev/null 2>&1 || die "$1 is not on the PATH; $2"
}

digest() { # digest of files and folders: names and contents
  find "$@" -type f -not -path '*/target/*' -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

fresh() { # fresh NAME DIGEST RESULT: true when RESULT exists and was made from DIGEST
  [ -e "$3" ] && [ "$(cat "$BUILD/stamps/$1" 2> /dev/null)" = "$2" ]
}

stamp() { printf '%s' "$2" > "$BUILD/stamps/$1"; }

quietly() { # quietly LOG COMMAND…: shows the end of the log only when the command fails
  local log="$BUILD/logs/$1.log"
  shift
  "$@" > "$log" 2>&1 || { tail -n 25 "$log" >&2; die "\`$1\` failed; the whole log is $log"; }
}
