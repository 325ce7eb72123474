#!/usr/bin/env bash
# Reads the shipped workflows (or the files named) with PyYAML and npm's yaml, and compares what they see.
# PyYAML stumbles over `{key?: T}` in braces, and with it yamllint and editors: shipped files must not.
#
#   tests/yaml/run.sh [FILE...]
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/../.."
tools="${CARGO_TARGET_DIR:-target}/yaml"
mkdir -p "$tools"
tools="$(cd "$tools" && pwd)"
if ! cat "$here/requirements.txt" "$here/package.json" | cmp -s - "$tools/done"; then
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/package.json" "$tools/"
  (cd "$tools" && npm install --no-audit --no-fund --loglevel=error)
  cat "$here/requirements.txt" "$here/package.json" >"$tools/done"
fi
if [ $# -eq 0 ]; then
  set -- workflows/*.yaml tests/real_model/workflows/*.yaml tests/yaml/written.yaml
fi
exec "$tools/venv/bin/python" -B "$here/compare.py" "$tools/node_modules" "$@"
