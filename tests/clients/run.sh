#!/usr/bin/env bash
# Tests a built `punctual` through real MCP clients: the Python SDK, fastmcp, both generations of the TypeScript
# SDK, MCP Inspector, the bare wire, and what `install` writes.
#
#   tests/clients/run.sh target/release/punctual
#
# Needs python3 >= 3.11 with venv, and npm. Installs pinned clients under target/clients. One line per check,
# then a closing line `N passed, M failed`; exit 0 where nothing failed, 2 where the clients cannot be had.
set -uo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
binary="${1:-$root/target/release/punctual}"
tools="${CARGO_TARGET_DIR:-$root/target}/clients"

if [ ! -x "$binary" ]; then
  echo "there is no program at $binary; build it first: cargo build --release" >&2
  exit 2
fi
binary="$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")"
mkdir -p "$tools"

# Installs once per version of the list it is given.
install() { # list, marker, command...
  local list="$1" marker="$2"
  shift 2
  cmp -s "$list" "$marker" && return 0
  echo "installing $(basename "$list") …" >&2
  "$@" >"$tools/install.log" 2>&1 && cp "$list" "$marker" && return 0
  tail -5 "$tools/install.log" >&2
  echo "could not install the clients of $list; the whole log is $tools/install.log" >&2
  exit 2
}
python_clients() {
  python3 -m venv "$tools/venv" &&
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
}
node_clients() {
  cp "$here/package.json" "$tools/package.json" &&
    (cd "$tools" && npm install --no-audit --no-fund --loglevel=error)
}
install "$here/requirements.txt" "$tools/requirements.done" python_clients
install "$here/package.json" "$tools/package.done" node_clients

results="$tools/results.txt"
: >"$results"
suite() { # name, limit in seconds, arguments...
  local name="$1" limit="$2"
  shift 2
  local runner=("$tools/venv/bin/python")
  [ "${name##*.}" != mjs ] || runner=("$tools/node_modules/.bin/node")
  timeout "$limit" env PYTHONDONTWRITEBYTECODE=1 "${runner[@]}" "$here/$name" "$@" \
    2>"$tools/$name.log" | tee -a "$results"
  local code="${PIPESTATUS[0]}"
  if [ "$code" -ne 0 ]; then
    echo "FAIL $name ended with exit code $code before its last check" | tee -a "$results"
    tail -20 "$tools/$name.log" >&2
  fi
}
suite wire.py 240 "$binary"
suite installed.py 120 "$binary"
suite sdk.py 400 "$binary"
suite fast.py 240 "$binary"
suite typescript.mjs 300 "$binary" "$tools"
suite inspector.py 300 "$binary" "$tools/node_modules/.bin"

passed="$(grep -c '^ok ' "$results")"
failed="$(grep -c '^FAIL ' "$results")"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
