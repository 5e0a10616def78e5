// The ranks of a simulated exchange by an algorithm of an MPI library over TCP: what stock
// libraries do. model/stock_schedule.h says what a rank posts and when, tcp/connection.h what
// becomes of it.
//
// Every two ranks have one connection, established and idle before the first exchange; windows and
// round trips are kept from one exchange to the next. A message is a header and its bytes in the
// stream. It has come when its last byte has come in order. A short message is written whether or
// not its receive is posted. Of a long one the first part is; the receiver answers when its receive
// is posted, and then the rest follows. A send is over when all of it is written, and a socket
// holds `send_buffer_bytes` that are not acknowledged.
//
// In a query the receiver writes first, and the answer is written when that has come.
//
// Connections of a host send in turn, each up to `turn_segments`, in the order in which they had
// something to send; acknowledgements wait in the same queue unless data carry them. That is a
// host's first-in first-out queue in which the kernel bounds what one socket may have.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "harness/message_program.h"
#include "model/stock_schedule.h"
#include "routing/routes.h"
#include "tcp/connection.h"

namespace alm::harness {

class TcpRanks final : public MessageProgram {
 public:
  // Errors are kBadInput: unknown algorithms, two ranks on a host, blocks that differ with
  // algorithms that combine them.
  static base::Result<std::unique_ptr<Program>> make(const SimRequest& request);
  static std::size_t memory_estimate(std::size_t ranks);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void timer(std::uint32_t host, sim::Picos now) override;
  sim::Picos deadline(std::uint32_t host) const override;
  void marked(std::uint32_t index) override;
  bool outgrows_cache() const override;
  void expect(std::uint32_t index, sim::Nearness nearness) const override;
  void fill(SimResult& result) const override;
  std::size_t bytes() const override;

 private:
  enum class Kind : std::uint8_t { kWhole, kStart, kClear, kRest, kAnswer };
  struct Message {
    tcp::Position end = 0;   // in the stream
    std::uint64_t rest = 0;  // kStart: what follows when the receiver is ready
    Kind kind = Kind::kWhole;
  };
  // One rank's end of the connection with one other.
  struct End {
    explicit End(const tcp::Config& config) : connection(config) {}
    tcp::Connection connection;
    base::Nanos timer_at = base::kNever;  // of its entry in the rank's heap
    std::vector<Message> written;         // not yet read and not yet over
    std::uint32_t over = 0, read = 0;     // of `written`: sends that are over; read by the peer
    std::uint32_t posted = 0;             // receives that wait for a message
    std::uint32_t arrived = 0;            // messages that wait for a receive
    std::uint32_t asking = 0;             // first parts that wait for a receive
    std::uint32_t clearing = 0;           // receives whose rest or answer is on its way
    bool queued = false;                  // waits for the link
  };
  struct Rank {
    model::StockRound round;
    std::uint32_t number = 0;  // of the round
    std::uint32_t next_send = 0, next_receive = 0;
    std::uint32_t sends = 0, receives = 0;  // under way
    std::deque<std::uint32_t> turns;        // peers whose connection has something to send
    std::uint32_t sent_in_turn = 0;         // by the first of them
    std::vector<std::pair<base::Nanos, std::uint32_t>> timers;  // heap: when, peer
    std::uint32_t waited_in = 0;  // the last exchange in which a connection to it waited, from 1
  };
  struct Cargo {
    std::uint32_t from = 0, to = 0;
    tcp::Segment segment;
  };

  TcpRanks(const TcpFlow& flow, model::StockSchedule schedule)
      : flow_(flow), schedule_(std::move(schedule)) {}
  End& end(std::uint32_t rank, std::uint32_t peer) {
    return ends_[rank * std::size_t{ranks()} + peer];
  }

  void establish(const topology::Cluster& cluster, const routing::Routes& routes);
  void enter(std::uint32_t rank);
  void begin_round(std::uint32_t rank);
  void proceed(std::uint32_t rank, sim::Picos now);
  void post(std::uint32_t rank);
  void post_receive(std::uint32_t rank, std::uint32_t from);
  void post_send(std::uint32_t rank, const model::StockRound::Send& send);
  void write(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, const Message& message);
  void read(std::uint32_t rank, std::uint32_t from);
  void take(std::uint32_t rank, std::uint32_t from, const Message& message);
  void end_sends(std::uint32_t rank, std::uint32_t peer);
  void offer(std::uint32_t rank, std::uint32_t peer);
  void arm(std::uint32_t rank, std::uint32_t peer);
  void count_wait(std::uint32_t rank, std::uint32_t peer);

  TcpFlow flow_;
  model::StockSchedule schedule_;
  std::vector<End> ends_;  // [rank * ranks + peer]
  std::deque<Rank> parts_;
  std::vector<Cargo> cargo_;        // by packet index
  std::uint32_t header_bytes_ = 0;  // of a frame
  std::uint64_t acks_ = 0;
  TcpResult counts_;
};

}  // namespace alm::harness
