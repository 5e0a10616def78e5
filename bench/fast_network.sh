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

# Real-time priority: what else runs is not to be measured.
realtime=(chrt -f 50)

# One TCP stream in the same run, to hold the rest against: Gbit/s and Gbit/s per sending core.
tcp=$(for ((run = 0; run < runs; ++run)); do
  "${realtime[@]}" ip netns exec h1 iperf3 --server --one-off >/dev/null &
  server=$!
  sleep 0.3
  "${realtime[@]}" ip netns exec h0 iperf3 --client 198.18.0.2 --congestion cubic --time 2 --json
  wait $server
done | python3 -c '
import json, statistics, sys
decoder, text, runs = json.JSONDecoder(), sys.stdin.read(), []
while text.strip():
    run, end = decoder.raw_decode(text.lstrip())
    runs.append(run["end"])
    text = text.lstrip()[end:]
rates = [run["sum_sent"]["bits_per_second"] / 1e9 for run in runs]
cores = [rate / run["cpu_utilization_percent"]["host_total"] * 100 for rate, run in zip(rates, runs)]
print(statistics.median(rates), statistics.median(cores))
')
printf '%-10s %-6s %-10s %8s %8s %20s %10s\n' blocks ways integrity Gbit/s resent "Gbit/s per core" "of TCP's"
printf '%-10s %-6s %-10s %8.1f %8s %20.1f %10s\n' "TCP" one - "${tcp% *}" - "${tcp#* }" 1.00

# BYTES COUNT: 200 to 400 MB per run.
for blocks in "1000000 300" "8000000 40"; do
  for ways in "1 0" "1 1" "0 0"; do
    for ((run = 0; run < runs; ++run)); do
      # shellcheck disable=SC2086
      "${realtime[@]}" "$tool" 2 $blocks window=256 grain=44 netns=1 oneway=${ways% *} header=${ways#* }
    done | python3 -c '
import json, statistics, sys
size, count, oneway, header = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4] == "1"
tcp = float(sys.argv[5])
runs = [json.loads(line) for line in sys.stdin]
rates = [run["gbit_s"] for run in runs]
# Of the processor time of a sending rank; both ways it receives as much beside.
cores = [8e-9 * size * count / run["first_cpu_s"] for run in runs]
core = statistics.median(cores)
print(f"{size / 1e6:.0f} MB".ljust(10), ("one" if oneway else "both").ljust(6),
      ("header" if header else "full").ljust(10),
      f"{statistics.median(rates):.1f}".rjust(8), str(sum(run["retransmitted"] for run in runs)).rjust(8),
      f"{core:.1f} ({max(cores):.1f} best)".rjust(20), (f"{core / tcp:.2f}" if oneway else "").rjust(10))
' "${blocks% *}" "${blocks#* }" "${ways% *}" "${ways#* }" "${tcp#* }"
  done
done
