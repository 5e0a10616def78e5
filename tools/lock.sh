#!/usr/bin/env bash
# Resolves requirements.in in a throw-away environment and pins everything it brought.
set -euo pipefail

tools="$(cd "$(dirname "$0")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

/usr/bin/python3 -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip --disable-pip-version-check install --quiet -r "$tools/requirements.in"
{
  echo "# Made by \`make lock\` from requirements.in: every package pinned."
  "$scratch/venv/bin/python" -m pip --disable-pip-version-check freeze --all --exclude pip
} >"$tools/requirements.txt"
