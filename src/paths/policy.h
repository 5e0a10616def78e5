// Chooses the path of the next train to a peer. A policy serves one peer. It knows only what these
// calls tell it, and counts in trains and packets, so that nothing in it depends on the speed of
// the network. docs/paths.md compares the policies.
//
// Paths are numbered from 0 and differ by an entropy value: a five-tuple that ECMP hashes, or an
// offset to the destination's address. Two paths may take the same route; that is not known here.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/rounds.h"
#include "base/time.h"

namespace alm::paths {

// Bit p: path p.
using PathSet = std::uint32_t;
constexpr PathSet bit_of(std::uint8_t path) { return PathSet{1} << path; }
constexpr PathSet all_paths(std::uint32_t paths) {
  return paths >= 32 ? ~PathSet{0} : (PathSet{1} << paths) - 1;
}

enum class PathRule : std::uint8_t {
  kOne,
  kRotate,
  kRandom,
  kLeastLoaded,
  kEven,
  kBss,
  kHsam,
  kRecycled,
  kBitmap,
  kAssigned,
};
// kBadInput for unknown names; the text lists the valid ones.
base::Result<PathRule> parse_path_rule(std::string_view name);
std::string_view name_of(PathRule rule);

struct PathSetup {
  PathRule rule = PathRule::kOne;
  std::uint32_t paths = 1;  // 1 .. 32
  std::uint32_t batch = 0;  // for bss: paths in use at once, 1 .. paths; 0: a quarter of them
  std::uint64_t seed = 0;   // differs between peers, so that they begin on different paths
};

// kBadInput: no paths, too many paths, or a batch larger than `paths`.
base::Status check_paths(std::uint32_t paths, std::uint32_t batch);
// What `batch` 0 stands for.
std::uint32_t default_batch(std::uint32_t paths);

class PathPolicy {
 public:
  virtual ~PathPolicy() = default;
  // A block begins. `planned`: the path that the plan has for it, or base::Rounds::kAnyPath.
  virtual void begin(std::uint8_t /*planned*/) {}
  // The path of the next train. `usable`: the paths that answer, at least one.
  virtual std::uint8_t choose(PathSet usable) = 0;
  // A packet was sent by that path.
  virtual void sent(std::uint8_t /*path*/) {}
  // A packet is known to have come, `delay` after it was sent.
  virtual void delivered(std::uint8_t /*path*/, base::Nanos /*delay*/) {}
  // A packet is known to be lost: one sent later by the same path has come.
  virtual void lost(std::uint8_t /*path*/) {}
  // A packet is no longer under way, but proves nothing: it had been sent before by another path.
  virtual void gone(std::uint8_t /*path*/) {}
  // A path does not answer while another one does.
  virtual void timed_out(std::uint8_t /*path*/) {}
};

// Precondition: check_paths().
std::unique_ptr<PathPolicy> make_path_policy(const PathSetup& setup);

// The next path of the set after `path`, cyclically. Precondition: the set is not empty.
std::uint8_t next_path(PathSet set, std::uint8_t path);

}  // namespace alm::paths
