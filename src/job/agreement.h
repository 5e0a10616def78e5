// The records that the ranks of a job exchange in MPI_Init, and what follows from them. Pure: every
// rank computes the same from the same records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "job/local_addresses.h"

namespace alm::job {

constexpr std::size_t kHostNameBytes = 65;  // HOST_NAME_MAX and its end
constexpr std::size_t kAddressesMax = 8;

// `layout` is compared first: another build has another record. Trivially copyable: it travels by
// MPI_Allgather between processes of one job, all of one architecture.
struct JobRecord {
  std::uint32_t layout = 0x616c'0008;
  std::uint32_t usable = 0;         // 0: the options or the cluster file are invalid here
  std::uint64_t configuration = 0;  // hash of the shared options and the cluster file
  std::uint8_t wants_stats = 0;
  std::uint8_t threads = 0;        // 1: MPI_THREAD_MULTIPLE is provided here
  std::uint8_t device_memory = 0;  // 1: this rank's program may pass buffers in GPU memory
  std::uint8_t has_profile = 0;    // 1: this rank has a profile; that of rank 0 counts
  std::uint32_t address_count = 0;
  std::array<InterfaceAddress, kAddressesMax> addresses{};
  std::array<char, kHostNameBytes> host{};
  std::uint8_t has_decisions = 0;    // 1: this rank has decisions to tell; those of rank 0 count
  std::uint8_t fast_addresses = 0;   // bit i: of addresses[i], see fastest_devices()
  std::uint8_t names_interface = 0;  // 1: the option `interface` is set here
  std::uint32_t machine = 0;         // this_machine()
};

// Why the ranks cannot work together, for callers that word it themselves.
enum class Obstacle { kNone, kOtherBuild, kInvalidHere, kDifferent, kOneHost };

struct Agreement {
  bool accelerate = false;
  bool stats = false;          // at least one rank writes the sum of all ranks' counters
  bool device_memory = false;  // on at least one rank a buffer may be in GPU memory
  bool threads = false;        // every rank's MPI may be called from several threads at once
  std::string warning;         // for rank 0 to log; empty: none
  Obstacle obstacle = Obstacle::kNone;
  std::string ranks;  // the ranks that `obstacle` is about, by name_ranks
};

std::uint64_t configuration_hash(std::string_view shared_options, std::string_view cluster_text);

void set_host(std::array<char, kHostNameBytes>& field, std::string_view name);
std::string_view host_of(const std::array<char, kHostNameBytes>& field);
// Whether two ranks are on one host. Names are for people and for the cluster file: containers made
// from one image have the same.
template <class Record>
bool on_one_host(const Record& a, const Record& b) {
  return a.machine == b.machine && host_of(a.host) == host_of(b.host);
}

// The first rank of each host.
std::vector<std::uint32_t> first_ranks(std::span<const JobRecord> records);

Agreement agree(std::span<const JobRecord> records);

// "rank 3 (h3)", "ranks 1 (h1), 5 (h5) and 12 more"
std::string name_ranks(std::span<const std::uint32_t> ranks, std::span<const JobRecord> records);

}  // namespace alm::job
