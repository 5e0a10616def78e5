#!/usr/bin/env bash
# Installs the Debian packages of packages.txt, if any is missing. Needs root or sudo only then.
set -euo pipefail

list="$(dirname "$0")/packages.txt"

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not a Debian system: install the equivalents of $list by hand," >&2
  echo "setup: then run make with ALM_SKIP_PACKAGES=1" >&2
  exit 1
fi

missing=()
while read -r package; do
  state="$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)"
  [[ "$state" == ii* ]] || missing+=("$package")
done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$list")

if ((${#missing[@]} == 0)); then
  exit 0
fi
echo "setup: installing missing packages: ${missing[*]}"

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: neither root nor sudo is at hand. As root, run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -yq --no-install-recommends "${missing[@]}" </dev/null
