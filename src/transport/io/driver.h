// Couples channels with one endpoint: runs exchanges from the calling thread, and answers late
// peers from a responder thread in between. The responder never calls MPI.
//
// One lock guards channels and endpoint. Of the threads inside run() or await(), one drives: it
// reads, hands datagrams to the channels they name, sends what all channels have to send, and
// blocks in ppoll without the lock. The others wait for their exchange to finish or for the
// driver's place.
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
  std::vector<Tuples> tuples;  // [peer], where they are known; else, or empty: tuple_of()
  // For messages: the number of each peer, where the set is part of a larger one (else its own),
  // and names by number, "rank 3 on h3".
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> names;
  // Sets with the same one, not 0, belong together: all their ranks run the exchanges of all of
  // them in the same order. Where two ranks do not, both fail.
  std::uint16_t family = 0;
};

struct DriverCounters {
  std::uint64_t unknown_set = 0;  // datagrams from outside, or for a set that is gone: unanswered
  std::uint64_t exchanges = 0;
  std::uint64_t responder_turns = 0;  // times the responder took the sockets over
};

// Why two ranks do not meet in a call. `sends`: to each, by the peer, where it is known. `bytes`:
// by self to the peer.
std::string another_way_text(const std::string& peer, std::optional<std::uint64_t> sends,
                             const std::string& self, std::uint64_t bytes);

class Driver {
 public:
  // Takes the endpoint; `responder` starts the thread (signals blocked). `time_scale`: so many
  // times slower than at full speed is the network (base::slowed). In a forked child every call
  // fails or does nothing, and the destructor leaves all alone.
  static base::Result<std::unique_ptr<Driver>> create(std::unique_ptr<Endpoint> endpoint,
                                                      bool responder = true, double time_scale = 1);
  ~Driver();  // stops the thread; the sockets close

  // Reserves a set number peers will address us by; then, once keys and addresses are known,
  // add_set. 0 when all 65535 numbers are taken.
  std::uint16_t reserve_set();
  void add_set(std::uint16_t set, PeerSet peers);
  // A dead communicator. Its channel goes on answering late peers for a while. Not while it runs.
  void remove_set(std::uint16_t set);

  // Which routers answer (hops.h): [question] the address, or one of no length. `patience`: how
  // long an answer is waited for; all together take 20 times as long at most. Exchanges of other
  // threads go on meanwhile.
  std::vector<Address> ask_routers(std::span<const HopQuestion> questions, base::Nanos patience);

  // Runs one exchange to completion from the calling thread. `progress` is called, holding no lock,
  // at least every millisecond while waiting (the interposer's PMPI_Test); it must not throw.
  // `deadline` bounds the whole. Several threads may run exchanges of different sets at once.
  // kPeerLost names the host; kTimeout is the deadline; kBadInput: two ranks do not agree on a
  // size, or on which set of a family is next. `warn` hears of peers that are silent, and of those
  // that answer and do not come: of these on the first rank alone that has.
  using Progress = std::function<void()>;
  struct Warn {
    std::function<void(const std::string& text)> say = {};
    std::function<std::string()> call = {};  // what the program has called
  };
  base::Status run(std::uint16_t set, const transport::Exchange& exchange, const Progress& progress,
                   const Warn& warn, base::Nanos deadline = base::kNever);

  // The parts of run(), for several exchanges at once. start() begins one and returns. Its rounds
  // and the memory of its blocks must live until await() has returned its completion or an error,
  // or until give_up().
  base::Status start(std::uint16_t set, const transport::Exchange& exchange);
  // The block for this peer, withheld at the start, is in the send buffer now.
  void make_ready(std::uint16_t set, transport::PeerId peer);
  struct Event {
    std::size_t index = 0;                       // of the set in what was given to await()
    std::optional<transport::PeerId> arrived{};  // nothing: that exchange is complete
  };
  // Waits for the next event of these sets; those that run no exchange are passed over. All
  // arrivals of an exchange are returned before its completion, if it reports them. If one exchange
  // fails, all of these end with its error, the same as from run().
  base::Result<Event> await(std::span<const std::uint16_t> sets, const Progress& progress,
                            const Warn& warn, base::Nanos deadline = base::kNever);

  // The calls of a family's ranks are numbered alike; this rank begins one of that number. Either
  // it enters exchanges of these sets in it, or, `elsewhere`, sends so many bytes to each rank by
  // other means: a rank that waits for it in an exchange of the same call fails with kBadInput.
  void begin(std::span<const std::uint16_t> sets, std::uint64_t call,
             std::optional<std::uint64_t> elsewhere);

  // Gives up all of these sets if one of them has failed for a peer: they belong together, and a
  // peer may wait for this rank on any of them. Takes 100 ms at most, times the time scale.
  void share_failure(std::span<const std::uint16_t> sets);

  // The same for a failure that was found elsewhere: for want of `lost`, a number as in
  // PeerSet::numbers.
  void give_up(std::span<const std::uint16_t> sets, const base::Error& failure, std::uint32_t lost);

  // For want of whom one of these sets has failed, or a peer of one has given up, in an exchange or
  // between two.
  struct Loss {
    base::Error error;
    std::uint32_t lost = 0;  // a number as in PeerSet::numbers
  };
  std::optional<Loss> loss(std::span<const std::uint16_t> sets) const;

  // What makes the next exchange of the set fail: an error found after the one before was complete.
  base::Status trouble(std::uint16_t set);

  // Until every set is settled or the time is over; the last act before the sockets close.
  bool settle(base::Nanos deadline, const Progress& progress);

  transport::Counters counters(std::uint16_t set) const;
  EndpointCounters endpoint_counters() const;
  DriverCounters driver_counters() const;
  const Endpoint& endpoint() const;

 private:
  Driver();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace alm::io
