// The ranks of a simulated exchange over the message layer of paper 004 (HSAL, section 4): stripes
// over several paths, completions, and weights that follow them.
//
//   sender                                  receiver
//   start (stripes)            ---->        notes their number, and waits until its receive is
//   posted
//                              <----        clear
//   stripe i by path i, all at once
//     its data                 ---->        the network card writes it to memory
//     finish i                 ---->        counts it; the message is there with the last
//   completion i (t_i)         <----        the network card's acknowledgement
//   all completions: new weights
//
// Starts, clears and finish notices carry a packet sequence number, counted per pair of ranks over
// all paths. A notice that comes too early waits in an out-of-order queue. Finish i follows the
// data of stripe i by the same path, on which the network keeps the order.
//
// A host's processor posts descriptors and handles notices and completions one after the other, in
// the order in which they came up; each costs time. So the processor finds completions late when
// there are many of them (004's cases 2 and 3), and t_i is the time at which it finds one. The
// network card takes a packet of each queue pair, which is a peer and a path, in turn, or, if
// asked, descriptors in the order in which they were posted.
//
// The paper's notices carry weights: a start W_batch, finish i w_i, and a message is there when
// these sum up to it. That needs exact sums, and a path's weight may be less than rounding leaves;
// so stripes are counted here.
//
// A round's sends and receives are posted when the round before is complete. Over UDP none of this
// is needed: each packet names its offset in the block (docs/paths.md).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "harness/message_program.h"
#include "harness/processor.h"
#include "harness/stripes.h"

namespace alm::harness {

class StripedRanks final : public MessageProgram {
 public:
  static base::Result<std::unique_ptr<Program>> make(const SimRequest& request);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  sim::Picos deadline(std::uint32_t host) const override;
  void fill(SimResult& result) const override;
  std::size_t bytes() const override;

 private:
  enum class Kind : std::uint8_t { kStart, kClear, kData, kLastData, kFinish, kAck };
  // A packet on the link, or a descriptor posted to the network card.
  struct Notice {
    std::uint32_t from = 0, to = 0;
    std::uint32_t message = 0;   // number, by pair of sender and receiver of the data
    std::uint32_t sequence = 0;  // of starts, clears and finish notices
    std::uint8_t stripe = 0;     // kStart: how many there are
    std::uint8_t path = 0;
    Kind kind = Kind::kData;
  };
  struct Descriptor {
    Notice notice;
    std::uint64_t bytes = 0;  // of data, not yet on the link
  };
  struct Task {
    Notice notice;
    std::uint64_t bytes = 0;
    bool posts = false;  // false: it handles a notice that has come
  };
  struct Sending {
    std::vector<Stripe> stripes;
    std::vector<sim::Picos> posted, times;
    std::size_t complete = 0;
  };
  struct Receiving {
    std::uint32_t stripes_missing = 0;  // once the start has come
    bool posted = false, started = false, cleared = false;
  };
  // The state that one rank keeps about one other.
  struct Connection {
    std::unique_ptr<Striping> striping;
    std::uint32_t messages_sent = 0, messages_posted = 0;  // to it, from it
    std::uint32_t sequence = 0, expected_sequence = 0;     // PSN, ESN
    std::map<std::uint32_t, Notice> out_of_order;          // by sequence number
    std::map<std::uint32_t, Sending> sending;              // by message
    std::map<std::uint32_t, Receiving> receiving;
  };
  struct Rank {
    std::vector<Connection> with;  // by peer
    Processor<Task> processor;
    std::map<std::uint32_t, std::deque<Descriptor>>
        queue_pairs;                   // by peer * kPathsMax + path; 0: all, as posted
    std::deque<std::uint32_t> active;  // queue pairs with descriptors, in turn
    std::deque<Notice> acks;
    std::size_t round = 0;
    std::uint32_t sends_left = 0, receives_left = 0;  // in the round
  };

  StripedRanks() = default;
  void enter(std::uint32_t rank, sim::Picos now);
  void begin_round(std::uint32_t rank, sim::Picos now);
  void end_rounds(std::uint32_t rank, sim::Picos now);
  void post(std::uint32_t rank, sim::Picos now, Notice notice, std::uint64_t bytes);
  void work(std::uint32_t rank, sim::Picos now);
  void give_to_card(Rank& rank, sim::Picos now, const Task& task);
  void handle(std::uint32_t rank, sim::Picos now, const Notice& notice);
  void in_order(std::uint32_t rank, sim::Picos now, const Notice& notice);
  void clear(std::uint32_t rank, sim::Picos now, std::uint32_t from, std::uint32_t message);
  void on_clear(std::uint32_t rank, sim::Picos now, const Notice& notice);
  void on_finish(Rank& self, const Notice& notice);
  void on_completion(Rank& self, sim::Picos now, const Notice& notice);

  StripedFlow flow_;
  std::deque<Rank> ranks_;
  std::vector<Notice> cargo_;  // by packet index
  std::uint64_t packets_ = 0, acks_ = 0, out_of_order_ = 0;
  transport::Counters counters_;
};

}  // namespace alm::harness
