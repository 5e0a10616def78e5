#!/usr/bin/env bash
# What the UDP path moves when no link holds it back: two network namespaces joined by an unshaped
# veth pair of MTU 1500, a rank and a processor each. As root; leaves nothing behind.
#
#   bench/fast_network.sh [RUNS]
set -euo pipefail
runs=${1:-5}
tool=$(realpath "$(dirname "$0")/../build/release/src/transport/io/udp_exchange")
if [[ ! -x "$tool" ]]; then
  echo "fast_network: $tool is missing: run 'make build'" >&2
  exit 2
fi
if ((EUID != 0)); then
  echo "fast_network: it makes network namespaces, which needs root: sudo make bench-udp" >&2
  exit 2
fi
if [[ ${ALM_INSIDE:-} != 1 ]]; then
  ALM_INSIDE=1 exec unshare --mount --net "$0" "$runs"
fi

mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/netns
ip netns add h0
ip netns add h1
ip link add v0 netns h0 type veth peer name v1 netns h1
for host in 0 1; do
  ip -n h$host addr add 198.18.0.$((host + 1))/24 dev v$host
  ip -n h$host link set v$host up
  ip -n h$host link set lo up
done

# BYTES COUNT: 200 to 400 MB per run.
printf '%-10s %-8s %10s %14s %20s\n' blocks ways Gbit/s "resent" "Gbit/s per core"
for blocks in "1000000 300" "8000000 40"; do
  for oneway in 1 0; do
    for ((run = 0; run < runs; ++run)); do
      # Real-time priority: what else runs is not to be measured.
      # shellcheck disable=SC2086
      chrt -f 50 "$tool" 2 $blocks window=256 grain=44 netns=1 oneway=$oneway
    done | python3 -c '
import json, statistics, sys
size, count, oneway = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1"
runs = [json.loads(line) for line in sys.stdin]
rates = [run["gbit_s"] for run in runs]
# Of the processor time of a sending rank; both ways it receives as much beside.
cores = [8e-9 * size * count / run["first_cpu_s"] for run in runs]
print(f"{size / 1e6:.0f} MB".ljust(10), ("one" if oneway else "both").ljust(8),
      f"{statistics.median(rates):.1f}".rjust(10), str(sum(run["retransmitted"] for run in runs)).rjust(14),
      f"{statistics.median(cores):.1f} ({max(cores):.1f} best)".rjust(20))
' "${blocks% *}" "${blocks#* }" $oneway
  done
done
