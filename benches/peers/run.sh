#!/usr/bin/env bash
# Time to a valid answer under faults of the first of two targets: LiteLLM, TensorZero and punctual side by side,
# against the same loopback server (upstream.py). Prints one markdown table.
#
#   benches/peers/run.sh [target/release/punctual] [tries]
#
# Installs the pinned peers (500 MB) under target/peers once; needs python3 >= 3.11 with venv. Some three minutes.
# Exit 1 where punctual gives no valid answer, 2 where the peers or the program cannot be had.
set -uo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
binary="${1:-$root/target/release/punctual}"
tools="${CARGO_TARGET_DIR:-$root/target}/peers"

if [ ! -x "$binary" ]; then
  echo "there is no program at $binary; build it first: cargo build --release" >&2
  exit 2
fi
mkdir -p "$tools"
if ! cmp -s "$here/requirements.txt" "$tools/requirements.done"; then
  echo "installing the peers under $tools …" >&2
  { python3 -m venv "$tools/venv" &&
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"; } \
    >"$tools/install.log" 2>&1 ||
    { tail -5 "$tools/install.log" >&2; echo "could not install the peers; the whole log is $tools/install.log" >&2; exit 2; }
  cp "$here/requirements.txt" "$tools/requirements.done"
fi
PYTHONDONTWRITEBYTECODE=1 exec "$tools/venv/bin/python" "$here/compare.py" "$binary" "${2:-3}"
