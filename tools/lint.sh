#!/usr/bin/env bash
# Every formatting and static check; goes on after a failure so that one run shows them all.
# With --fix, rewrites what can be rewritten instead.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

fix=false
[[ "${1:-}" == "--fix" ]] && fix=true
failed=()

check() {
  local name="$1"
  shift
  local begin=$SECONDS
  if "$@"; then
    printf 'lint: %-14s ok (%d s)\n' "$name" $((SECONDS - begin))
  else
    printf 'lint: %-14s FAILED\n' "$name"
    failed+=("$name")
  fi
}

# Tracked and new files alike, ignored ones left out, deleted ones too. The checkout may belong to
# another user, as in a container.
files() {
  git -c safe.directory='*' ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
    [[ -f "$file" ]] && printf '%s\0' "$file"
  done
}
mapfile -d '' cpp < <(files '*.h' '*.cc' '*.c' '*.def')
mapfile -d '' cmake < <(files 'CMakeLists.txt' '*/CMakeLists.txt' '*.cmake')
mapfile -d '' python < <(files '*.py')
mapfile -d '' shell < <(files '*.sh' '.ci/run')
mapfile -d '' text < <(files '*.h' '*.cc' '*.c' '*.def' '*.py' '*.md' '*.sh' '*.toml' '*.txt' Makefile)

if ((${#cpp[@]} == 0)); then
  echo "lint: git lists no sources here; run it in a clone" >&2
  exit 1
fi

venv=.venv/bin
if $fix; then
  check clang-format clang-format-14 -i "${cpp[@]}"
  check gersemi $venv/gersemi --in-place "${cmake[@]}"
  check ruff-fix $venv/ruff check --quiet --fix "${python[@]}"
  check ruff-format $venv/ruff format --quiet "${python[@]}"
else
  check clang-format clang-format-14 --dry-run --Werror "${cpp[@]}"
  check gersemi $venv/gersemi --check --diff "${cmake[@]}"
  check ruff $venv/ruff check --quiet "${python[@]}"
  check ruff-format $venv/ruff format --check --quiet "${python[@]}"
  check mypy $venv/mypy --no-error-summary
  check codespell codespell "${text[@]}"
  check shellcheck shellcheck "${shell[@]}"
  check options tools/make_options.py --check
  check layers tools/check_layers.py
  check classes tools/check_classes.py
  check words tools/check_words.py
  check callers tools/check_callers.py
  check clang-tidy tools/clang_tidy.py
fi

if ((${#failed[@]})); then
  echo "lint: failed: ${failed[*]}"
  exit 1
fi
