#!/usr/bin/env bash
# Opens files in yaml-language-server, which is what VS Code's YAML support and most other editors run, and looks at
# what it says with the committed schemas: diagnostics, completions, hover texts.
#
#   tests/editor/run.sh
#
# Needs npm. Installs the pinned server under target/editor. One line per check, then a closing line
# `N passed, M failed`; exit 0 where nothing failed, 2 where the server cannot be had.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/../.."
tools="${CARGO_TARGET_DIR:-target}/editor"
mkdir -p "$tools"
tools="$(cd "$tools" && pwd)"
if ! cmp -s "$here/package.json" "$tools/done"; then
  echo "installing yaml-language-server …" >&2
  cp "$here/package.json" "$tools/"
  # The package `node` fetches its program in a script of its own; some npm versions hold scripts back.
  if ! (cd "$tools" && npm install --no-audit --no-fund --loglevel=error) >"$tools/install.log" 2>&1; then
    tail -5 "$tools/install.log" >&2
    echo "could not install yaml-language-server; the whole log is $tools/install.log" >&2
    exit 2
  fi
  cp "$here/package.json" "$tools/done"
fi
node="$tools/node_modules/.bin/node"
[ -x "$node" ] && "$node" --version >/dev/null 2>&1 || node=node
exec "$node" "$here/suite.mjs" "$tools/node_modules/yaml-language-server/bin/yaml-language-server"
