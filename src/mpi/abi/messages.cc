#include "mpi/abi/messages.h"

#include <string>
#include <utility>

namespace alm::mpi {

void UnendedMessages::add(std::unique_ptr<MessagesInFlight> messages) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(messages));
  count_ = all_.size();
}

void UnendedMessages::sweep() {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto& one) { return one->engine.ended(); });
  count_ = all_.size();
}

Messages::Messages(const messages::MpiApi& api, UnendedMessages& unended, MPI_Comm comm,
                   std::uint32_t ranks, std::uint32_t self, job::RankName name,
                   const messages::P2pOptions& options)
    : unended_(unended),
      self_(self),
      name_(std::move(name)),
      flight_(std::make_unique<MessagesInFlight>(api, comm, ranks, options)) {}

Messages::~Messages() {
  if (!flight_->engine.ended()) unended_.add(std::move(flight_));
}

base::Status Messages::start(std::size_t strand, const transport::Exchange& exchange,
                             const messages::MessageFlow& flow) {
  const int code = flight_->engine.start(strand, exchange, flow);
  return code == MPI_SUCCESS ? base::Status{} : error_of(code);
}

void Messages::make_ready(std::size_t strand, base::PeerId peer) {
  flight_->engine.make_ready(strand, peer);
}

base::Result<Messages::Event> Messages::await(std::span<const std::size_t> strands) {
  messages::MpiP2p::Event event;
  const int code = flight_->engine.await(strands, event);
  if (code != MPI_SUCCESS) return error_of(code);
  return Event{event.index, event.arrived};
}

void Messages::give_up() { flight_->engine.give_up(self_); }

bool Messages::ended() { return flight_->engine.ended(); }

void Messages::keep(std::shared_ptr<const void> memory) {
  flight_->kept.push_back(std::move(memory));
}

std::uint64_t Messages::messages_sent() const { return flight_->engine.messages_sent(); }

base::Error Messages::error_of(int code) const {
  const auto& trouble = flight_->engine.trouble();
  if (!trouble)
    return base::io_error("MPI point-to-point failed with code " + std::to_string(code));
  const std::string peer = name_(trouble->peer);
  if (trouble->gave_up) {
    return {base::ErrorCode::kTimeout, peer + " has given up, and says why"};
  }
  const std::string sent = trouble->sent ? std::to_string(*trouble->sent)
                                         : "more than " + std::to_string(trouble->expected);
  return base::bad_input(peer + " sends " + sent + " bytes to " + name_(self_) +
                         ", which expects " + std::to_string(trouble->expected) + " bytes");
}

}  // namespace alm::mpi
