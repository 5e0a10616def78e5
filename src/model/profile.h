// The profile of a network, format 1 (docs/profile.md): what a prober measured, the samples behind
// it, and what was fitted to them. Read here; Python writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/transport.h"
#include "topology/cluster.h"

namespace alm::model {

constexpr std::size_t kProfileBytesMax = 8u << 20;

// A figure with its 90 % interval; low = high = value where none was given.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

enum class Level : std::uint8_t { kLeaf, kAcross };

// A quantity of the LogP kind, between two hosts of one leaf or of two.
struct Parameter {
  std::string name;  // one of kParameterNames
  Level level = Level::kLeaf;
  base::Transport transport = base::Transport::kUdp;  // key `carrier`
  std::uint64_t bytes = 0;                            // for parameters that depend on the size
  Estimate value;                                     // in the unit of its name: s, or s per byte
};

// The rate of a link as a cluster file counts it: frames with all headers, not payload.
struct LinkRate {
  std::string from, to;
  Estimate mbit_s;
  bool lower_bound = false;  // the hosts could not fill it
};

enum class PortState : std::uint8_t { kMeasured, kNotOverloadable, kNotTried };

struct PortBuffer {
  std::string from, to;
  PortState state = PortState::kNotTried;
  std::optional<Estimate> packets;  // where measured
  std::string pool;                 // ports that share one have the same name; empty: none known
};

// One way, timed: the slowest rank's time of each call.
struct Sample {
  std::string candidate;  // as `allemande bench` names it
  std::string way;        // as decision files name it; empty: no way of the library
  std::vector<std::string> members;
  std::uint64_t bytes = 0;  // per pair
  std::vector<double> times_s;
  std::optional<std::uint32_t> timeouts;  // TCP's, during the calls
};

enum class FitKind : std::uint8_t {
  kSignature,   // 003 Eq 4-5: alpha_s, beta_s_per_byte, gamma, delta_s, threshold_bytes
  kStructural,  // of our ways: call_s, round_s, packet_s, and factors of turns_s and of the links
};

// A fit to the samples of one way. `sigma` is the deviation of the natural logarithm of measured
// over fitted time. hosts_ and bytes_ bound the samples it rests on; beyond them it extrapolates.
struct Fit {
  std::string candidate, way;
  FitKind kind = FitKind::kStructural;
  std::vector<double> coefficients;
  double sigma = 0;
  std::uint32_t hosts_least = 0, hosts_most = 0;
  std::uint64_t bytes_least = 0, bytes_most = 0;
};

struct Profile {
  std::vector<std::string> hosts;  // in rank order, one rank each
  std::string version;             // of allemande
  std::string mpi;                 // library and version, as in decision files; empty: none
  std::uint32_t mtu_bytes = 1500;
  double time_scale = 1;
  bool simulated = false;
  std::optional<topology::Cluster> cluster;
  std::vector<Parameter> parameters;
  std::vector<LinkRate> links;
  std::vector<PortBuffer> ports;
  std::vector<Sample> samples;
  std::vector<Fit> fits;
};

// Errors are kBadInput and read "FILE:LINE: key `x`: what is wrong; expected ...".
base::Result<Profile> parse_profile(std::string_view text, std::string_view file);

}  // namespace alm::model
