#include "communicator/check_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "job/host_links.h"
#include "job/safe_collectives.h"
#include "meeting/gathered_round_trips.h"
#include "meeting/peer_record.h"
#include "meeting/round_trip_check.h"
#include "plan/tune.h"

namespace alm::communicator {
namespace {

// A kernel answers a host some 50 times at once, three times each of those that ask.
constexpr std::uint32_t kAskedMax = 15;
constexpr std::uint32_t kNextAsked = 7;  // of them the hosts that come next, for leaves
// Long enough to show each switch on the way, short enough to come back whole (RFC 1812, 4.3.2.3).
constexpr std::uint32_t kDatagramBytes = 512;
constexpr base::Nanos kAnswerWithin = 200 * base::kMillisecond;
constexpr base::Nanos kAskingMax = 500 * base::kMillisecond;
// Windows are cut at a queue that holds less than the file says; a pause of a host may do it once.
constexpr std::uint64_t kCutsMin = 3;

// What a rank tells the others, on the first rank of each host.
struct Met {
  meeting::PeerSockets sockets;
  std::uint64_t cuts_alone = 0;
  std::uint64_t window_least = 0;
};

// The hosts that one of them asks: all, or those that come next and some that are spread over the
// rest.
std::vector<std::uint32_t> asked_by(std::uint32_t host, std::uint32_t hosts) {
  std::vector<std::uint32_t> asked;
  const std::uint32_t others = std::min(hosts - 1, kAskedMax);
  for (std::uint32_t i = 1; i <= others; ++i) {
    const std::uint32_t rest = i - std::min(i, kNextAsked);
    const std::uint32_t apart =
        hosts - 1 <= kAskedMax
            ? i
            : std::min(i, kNextAsked) + rest * (hosts - 1 - kNextAsked) / (kAskedMax - kNextAsked);
    asked.push_back((host + apart) % hosts);
  }
  return asked;
}

class Check {
 public:
  Check(job::Job& job, job::CommHandle world)
      : job_(job),
        collectives_(job.bootstrap, world),
        survey_{.leaders = job::first_ranks(job.records),
                .ranks = static_cast<std::uint32_t>(job.records.size()),
                .self = job.rank} {}

  void run() {
    for (const std::uint32_t rank : survey_.leaders) {
      const auto id = job::find_host(*job_.cluster, job::host_of(job_.records[rank].host));
      if (!id || std::find(hosts_.begin(), hosts_.end(), *id) != hosts_.end()) return;
      hosts_.push_back(*id);
    }
    if (hosts_.size() < 2) return;
    all_.resize(job_.records.size());
    if (!collectives_.gather(met(), all_)) return;
    if (job_.rank == 0) check_queues();
    if (!meeting::can_be_checked(*job_.cluster, hosts_) || !all_have_sockets()) return;
    survey_.manner = {.patience = slowed(kAnswerWithin),
                      .limit = slowed(kAskingMax),
                      .under_way = 1,
                      .ends_in_silence = true,
                      .datagram_bytes = kDatagramBytes};
    const auto hosts = static_cast<std::uint32_t>(hosts_.size());
    const auto times = meeting::gather_round_trips<kAskedMax>(
        collectives_, survey_, [hosts](std::uint32_t host) { return asked_by(host, hosts); });
    if (job_.rank != 0 || !times) return;
    // By wrong leaves packets pass links that they do not pass.
    const auto leaves = meeting::leaf_remarks(*job_.cluster, hosts_, times.value());
    warn(leaves.empty() ? meeting::latency_remarks(*job_.cluster, hosts_, times.value()) : leaves);
  }

 private:
  Met met() {
    Met met;
    const auto channel = job_.stats.record().channel;
    met.cuts_alone = channel.cuts_alone;
    met.window_least = channel.window_least;
    if (!job_.has_driver()) return met;
    meeting::PeerRecord record;
    survey_.local = job_.driver().value()->endpoint().local(0);
    meeting::set_addresses(record, job_.driver().value()->endpoint(), 1);
    met.sockets = record;
    return met;
  }

  bool all_have_sockets() {
    for (const std::uint32_t rank : survey_.leaders) {
      const auto address = meeting::first_address(all_[rank].sockets);
      if (!address) return false;
      survey_.addresses.push_back(*address);
    }
    return true;
  }

  void check_queues() const {
    if (job_.options.window_packets != 0) return;
    std::uint64_t cuts = 0;
    std::uint64_t least = 0;
    std::size_t often = 0;  // ranks: a queue that is short cuts all that send through it
    for (const Met& one : all_) {
      cuts += one.cuts_alone;
      if (one.cuts_alone >= kCutsMin) ++often;
      if (one.cuts_alone > 0 && (least == 0 || one.window_least < least)) least = one.window_least;
    }
    const auto tuning = plan::tune(*job_.cluster, hosts_);
    const topology::Link* link = job::find_link(*job_.cluster, tuning.contended_port);
    if (often * 2 < hosts_.size() || link == nullptr) return;
    // By the file packets may be lost with this window, or none ever is.
    if (tuning.window_packets > tuning.window_packets_max) return;
    const bool up = tuning.contended_port.starts_with(job_.cluster->node_name(link->from) + " ");
    warn(
        {{up ? link->lines.queue_up : link->lines.queue_down,
          fmt::format("the queue of {} holds less than it says: windows that it has room for lost "
                      "packets {} times, with nobody else on the links, and were cut to {} packets "
                      "from {}",
                      tuning.contended_port, cuts, least, tuning.window_packets)}});
  }

  void warn(const std::vector<meeting::FileRemark>& remarks) const {
    for (const meeting::FileRemark& remark : remarks) {
      job_.log.warning(fmt::format("{}:{}: {}. Correct the file.", job_.options.cluster,
                                   remark.line, remark.text));
    }
  }

  base::Nanos slowed(base::Nanos time) const { return base::slowed(time, job_.options.time_scale); }

  job::Job& job_;
  job::SafeCollectives collectives_;
  meeting::RoundTripSurvey survey_;  // by the first rank of each host
  std::vector<base::HostId> hosts_;  // of these, in the cluster file
  std::vector<Met> all_;             // [rank]
};

}  // namespace

void check_description(job::Job& job, job::CommHandle world) {
  if (job.cluster && job.options.transport != "mpi") Check(job, world).run();
}

}  // namespace alm::communicator
