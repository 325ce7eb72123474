#!/usr/bin/env bash
# Fuzzes loader, configuration, expressions, templates and replies for so many SECONDS in all (20 without). The last line
# counts the targets. Failing inputs are kept under target/fuzz/.
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo bench --quiet --bench fuzz -- "${1:-20}"
