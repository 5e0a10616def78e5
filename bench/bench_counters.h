// Counters read around the calls of a size: what the host's network namespace sent and lost
// (/proc/self/net), what the machine dropped before any socket saw it (softnet), how idle it was.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum counter {
  kFramesSent,  // interfaces other than lo: frames on the wire, whatever the protocol
  kFramesReceived,
  kFramesDropped,  // by the interface or its queueing discipline at the sender
  kTcpSegments,    // OutSegs: without retransmissions
  kTcpRetransmitted,
  kTcpTimeouts,
  kReceiveBufferDrops,  // a socket buffer was full: the reader was too slow, not the network
  kSoftnetDrops,        // the machine's own packet queue was full: these void a measurement
  kCounterCount
};

enum counter_scope { kScopeHost, kScopeMachine };

struct host_counters {
  uint64_t value[kCounterCount];
};

struct cpu_ticks {
  double idle_s;
  double total_s;
};

static inline const char* counter_name(int counter) {
  static const char* const kNames[kCounterCount] = {
      "frames_sent",       "frames_received", "frames_dropped",       "tcp_segments",
      "tcp_retransmitted", "tcp_timeouts",    "receive_buffer_drops", "softnet_drops"};
  return kNames[counter];
}

static inline enum counter_scope counter_scope(int counter) {
  return counter == kSoftnetDrops ? kScopeMachine : kScopeHost;
}

// /proc/net/snmp and netstat: a line of names, then a line of values, each starting "Tcp:".
static inline void read_named_pairs(const char* path, const char* const* names,
                                    const enum counter* targets, int count,
                                    struct host_counters* counters) {
  FILE* file = fopen(path, "r");
  if (!file) return;
  static char heads[8192];
  static char values[8192];
  while (fgets(heads, sizeof heads, file) && fgets(values, sizeof values, file)) {
    char* head_rest = NULL;
    char* value_rest = NULL;
    const char* prefix = strtok_r(heads, " \n", &head_rest);
    strtok_r(values, " \n", &value_rest);
    for (;;) {
      const char* head = strtok_r(NULL, " \n", &head_rest);
      const char* value = strtok_r(NULL, " \n", &value_rest);
      if (!prefix || !head || !value) break;
      for (int i = 0; i < count; ++i) {
        const size_t length = strlen(prefix);
        if (strncmp(names[i], prefix, length) == 0 && strcmp(names[i] + length, head) == 0) {
          counters->value[targets[i]] += strtoull(value, NULL, 10);
        }
      }
    }
  }
  fclose(file);
}

static inline void read_interfaces(struct host_counters* counters) {
  FILE* file = fopen("/proc/self/net/dev", "r");
  if (!file) return;
  char line[512];
  while (fgets(line, sizeof line, file)) {
    char* colon = strchr(line, ':');
    if (!colon) continue;  // the two heading lines
    *colon = '\0';
    if (strcmp(line + strspn(line, " "), "lo") == 0) continue;
    unsigned long long rx_packets = 0, tx_packets = 0, tx_dropped = 0;
    if (sscanf(colon + 1, "%*u %llu %*u %*u %*u %*u %*u %*u %*u %llu %*u %llu", &rx_packets,
               &tx_packets, &tx_dropped) != 3) {
      continue;
    }
    counters->value[kFramesReceived] += rx_packets;
    counters->value[kFramesSent] += tx_packets;
    counters->value[kFramesDropped] += tx_dropped;
  }
  fclose(file);
}

static inline void read_softnet(struct host_counters* counters) {
  FILE* file = fopen("/proc/net/softnet_stat", "r");
  if (!file) return;
  char line[512];
  while (fgets(line, sizeof line, file)) {
    unsigned processed = 0, dropped = 0;
    if (sscanf(line, "%x %x", &processed, &dropped) == 2) counters->value[kSoftnetDrops] += dropped;
  }
  fclose(file);
}

static inline struct host_counters read_host_counters(void) {
  static const char* const kSnmp[] = {"Tcp:OutSegs", "Tcp:RetransSegs", "Udp:RcvbufErrors",
                                      "Udp:MemErrors"};
  static const enum counter kSnmpTargets[] = {kTcpSegments, kTcpRetransmitted, kReceiveBufferDrops,
                                              kReceiveBufferDrops};
  static const char* const kNetstat[] = {"TcpExt:TCPTimeouts", "TcpExt:TCPBacklogDrop",
                                         "TcpExt:TCPRcvQDrop", "TcpExt:RcvPruned"};
  static const enum counter kNetstatTargets[] = {kTcpTimeouts, kReceiveBufferDrops,
                                                 kReceiveBufferDrops, kReceiveBufferDrops};
  struct host_counters counters = {{0}};
  read_interfaces(&counters);
  read_named_pairs("/proc/self/net/snmp", kSnmp, kSnmpTargets, 4, &counters);
  read_named_pairs("/proc/self/net/netstat", kNetstat, kNetstatTargets, 4, &counters);
  read_softnet(&counters);
  return counters;
}

// Idle comes from /proc/stat, which is exact on a tickless kernel; the busy fields are sampled at
// the tick and miss short bursts, so the total is wall time x processors.
static inline struct cpu_ticks read_cpu_ticks(void) {
  struct cpu_ticks ticks = {0, 0};
  FILE* file = fopen("/proc/stat", "r");
  if (!file) return ticks;
  unsigned long long idle = 0, waiting = 0;
  const int fields = fscanf(file, "cpu %*u %*u %*u %llu %llu", &idle, &waiting);
  fclose(file);
  if (fields != 2) return ticks;
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  ticks.idle_s = (double)(idle + waiting) / (double)sysconf(_SC_CLK_TCK);
  ticks.total_s =
      ((double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec) * (double)sysconf(_SC_NPROCESSORS_ONLN);
  return ticks;
}
