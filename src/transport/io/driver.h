// Couples channels with one endpoint: runs exchanges in the calling thread, and answers late peers
// in a responder thread between calls. The responder never calls MPI.
//
// One lock guards channels and endpoint. One of the threads inside run() or await() drives: it
// reads, passes datagrams to their channels, sends what all channels have to send, and blocks in
// ppoll without the lock. The others wait for their exchange to finish or for their turn to drive.
//
// One thread may have several exchanges under way, each of a set of its own: it starts them one
// after the other and then awaits what happens in any of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::io {

struct PeerSet {
  transport::Identity identity;
  transport::Config config;
  std::vector<std::vector<Address>> addresses;  // [peer][port]; self's may be empty
  std::vector<Tuples> tuples;                   // [peer]; tuple_of() where empty
  // For texts: the number of each peer in a larger set (empty: its number in this set), and names
  // by number, "rank 3 on h3".
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> names;
  // Sets with the same family, not 0, belong together: all ranks run the exchanges of all of them
  // in the same order. If two ranks do not, both fail.
  std::uint16_t family = 0;
};

struct DriverCounters {
  std::uint64_t unknown_set = 0;  // datagrams from strangers, or for a set that is gone
  std::uint64_t exchanges = 0;
  std::uint64_t responder_turns = 0;  // how often the responder took over the sockets
  std::uint64_t waiter_looks = 0;     // of threads that wait while another one drives
};

// The text of the error that two ranks do not exchange by the same means in a call. `sends`: bytes
// that the peer sends to each rank, if known. `bytes`: what self sends to the peer.
std::string another_way_text(const std::string& peer, std::optional<std::uint64_t> sends,
                             const std::string& self, std::uint64_t bytes);
// The same of a peer that makes no further call.
std::string no_further_call_text(const std::string& peer);

// "rank 5 on h5, rank 6 on h6, rank 7 on h7 and 2 more have not entered MPI_Alltoallv for 10 s".
// `names`: of all of them; `call`: what the program has called, if that is known.
std::string absent_text(const std::vector<std::string>& names,
                        const std::function<std::string()>& call, base::Nanos waited);
constexpr std::size_t kAbsentNamed = 3;

class Driver {
 public:
  // Takes the endpoint; `responder` starts the thread (signals blocked). `time_scale`: how many
  // times slower than at full speed the network is (base::slowed). In a forked child every call
  // fails or does nothing, and the destructor touches nothing.
  static base::Result<std::unique_ptr<Driver>> create(std::unique_ptr<Endpoint> endpoint,
                                                      bool responder = true, double time_scale = 1);
  ~Driver();  // stops the thread; the sockets close

  // What the process does while its peers wait for it: a number for them, and what the numbers of
  // others mean, "computes". Both are called under the driver's lock.
  struct Doing {
    std::function<std::uint64_t()> now;
    std::function<std::string(std::uint64_t what)> text;
  };
  void tell_doing(Doing doing);

  // Reserves a set number, by which peers will address this rank; add_set() follows when keys and
  // addresses are known. 0: all 65535 numbers are taken.
  std::uint16_t reserve_set();
  void add_set(std::uint16_t set, PeerSet peers);
  // For a freed communicator. The channel goes on answering late peers for a while. Not while it
  // runs.
  void remove_set(std::uint16_t set);

  // Opens more sockets of the endpoint, so that there are so many. They are used by sets with
  // several paths, and to ask routers.
  base::Status open_sockets(std::uint32_t count);

  // Asks routers (hops.h) until the asker is done. Exchanges of other threads go on meanwhile.
  void ask_routers(HopAsker& hops);

  // Runs one exchange to completion in the calling thread. `progress` is called at least every
  // millisecond while waiting, without the lock (mpi/abi calls MPI_Test in it); it must not throw.
  // Several threads may run exchanges of different sets at once. kPeerLost names the host;
  // kTimeout: `deadline` has come; kBadInput: two ranks do not agree on a size, or on which set of
  // a family is next. Warnings of silent peers go to `warn`, and on the first rank that has entered
  // the exchange those of peers that answer and have not.
  using Progress = std::function<void()>;
  struct Warn {
    std::function<void(const std::string& text)> say = {};
    std::function<std::string()> call = {};  // what the program has called
  };
  base::Status run(std::uint16_t set, const transport::Exchange& exchange, const Progress& progress,
                   const Warn& warn, base::Nanos deadline = base::kNever);

  // run() in two parts, for several exchanges at once. start() begins one and returns. Its rounds
  // and the memory of its blocks must live until await() has returned its completion or an error,
  // or until give_up().
  base::Status start(std::uint16_t set, const transport::Exchange& exchange);
  // The block for this peer, withheld at the start, is in the send buffer now.
  void make_ready(std::uint16_t set, transport::PeerId peer);
  struct Event {
    std::size_t index = 0;                       // of the set in the argument of await()
    std::optional<transport::PeerId> arrived{};  // nothing: the exchange is complete
  };
  // Waits for the next event of these sets; sets that run no exchange are skipped. All arrivals of
  // an exchange are returned before its completion, if it reports them. If one exchange fails, all
  // of them end with its error, which is the same as from run().
  base::Result<Event> await(std::span<const std::uint16_t> sets, const Progress& progress,
                            const Warn& warn, base::Nanos deadline = base::kNever);

  // This rank begins call number `call`; all ranks of a family number their calls alike. In the
  // call it enters exchanges of these sets or, with `elsewhere`, sends so many bytes to each rank
  // by other means: then a rank that waits for it in an exchange of the same call fails with
  // kBadInput. The last of all calls is Attendance::kNoFurtherCall.
  void begin(std::span<const std::uint16_t> sets, std::uint64_t call,
             std::optional<std::uint64_t> elsewhere);

  // Gives up all of these sets if one of them has failed because of a peer: they belong together,
  // and a peer may wait for this rank on any of them. Takes up to 100 ms, times the time scale.
  void share_failure(std::span<const std::uint16_t> sets);

  // The same for a failure that was found elsewhere: peer `lost`, a number as in PeerSet::numbers,
  // is lost.
  void give_up(std::span<const std::uint16_t> sets, const base::Error& failure, std::uint32_t lost);

  // The lost peer for which one of these sets has failed, or for which a peer has given up, in an
  // exchange or between two.
  struct Loss {
    base::Error error;
    std::uint32_t lost = 0;  // a number as in PeerSet::numbers
  };
  std::optional<Loss> loss(std::span<const std::uint16_t> sets) const;

  // Two ranks do not agree on a size. Where that is found after an exchange was complete, the next
  // one of the set fails with it.
  base::Status trouble(std::uint16_t set);

  // Sends every peer of the set `packets` packets of `bytes` each that carry nothing, all at once,
  // and drives for `time`, in which they drain (Channel::fill). What has not left long after that
  // is dropped.
  void fill(std::uint16_t set, std::uint32_t packets, std::uint32_t bytes, base::Nanos time,
            const Progress& progress);

  // Drives until every set is settled or `deadline` has come. The last call before the sockets
  // close.
  bool settle(base::Nanos deadline, const Progress& progress);

  transport::Counters counters(std::uint16_t set) const;
  EndpointCounters endpoint_counters() const;
  DriverCounters driver_counters() const;
  void refute_rate();              // calls have shown that a rate in the cluster file is too low
  clocks::RateClaim rate() const;  // what exchanges say of the rate in the cluster file
  const Endpoint& endpoint() const;

 private:
  Driver();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace alm::io
