// An exchange among processes that bring their own bootstrap: one communicator of src/communicator
// with a job, sockets and options of its own. The C and the Python interface both wrap it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capi/allgather_bootstrap.h"
#include "communicator/communicator.h"
#include "job/job.h"

namespace alm::capi {

// See alm_exchange_config; empty strings stand for NULL.
struct Settings {
  std::uint32_t ranks = 0, self = 0;
  AllgatherBootstrap::Allgather allgather;
  AllgatherBootstrap::Progress progress;
  std::function<void(int level, const std::string& message)> log;
  std::string cluster_file, host;
  std::vector<std::string> options;  // "key=value"
};

struct Block {
  std::uint64_t at = 0, bytes = 0;  // from the buffer's begin
};

// Functions return ALM_ codes; error() has the words. The same thread rules as in the C interface.
class Exchange {
 public:
  explicit Exchange(Settings settings);
  ~Exchange();

  int open();  // collective, once, before anything else

  // `name` is the function the caller knows. send == nullptr: in place.
  int alltoall(const char* name, const std::byte* send, std::byte* recv, std::uint64_t bytes);
  // `send_blocks` is not looked at when in place.
  int alltoallv(const char* name, const std::byte* send, std::span<const Block> send_blocks,
                std::byte* recv, std::span<const Block> recv_blocks);

  std::uint32_t ranks() const { return settings_.ranks; }
  std::uint32_t self() const { return settings_.self; }
  const std::string& error() const { return error_; }
  // Keeps the message for error(); returns the code.
  int fail(int code, std::string message);

  std::string counters_json();

  // Held by the thread that is inside a call.
  class Turn {
   public:
    explicit Turn(Exchange& exchange)
        : exchange_(exchange), mine_(!exchange.busy_.exchange(true)) {}
    ~Turn() {
      if (mine_) exchange_.busy_.store(false);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool mine() const { return mine_; }

   private:
    Exchange& exchange_;
    bool mine_;
  };

 private:
  job::Log make_log(const std::string& who, const std::string& level) const;
  std::string configure(job::JobRecord& record);  // what is wrong; empty: nothing
  int compare(const job::JobRecord& mine, const std::string& wrong_here);
  int check_switches();
  int outcome(const char* name, std::optional<int> code);
  int not_ready(const char* name);
  int check_block(const char* name, std::uint64_t bytes, std::uint32_t rank, const char* side);
  int check_overlap(const char* name, const std::byte* send, std::span<const Block> send_blocks,
                    std::byte* recv, std::span<const Block> recv_blocks);

  Settings settings_;
  std::atomic<bool> busy_{false};
  std::string error_;
  AllgatherBootstrap bootstrap_;
  job::Job job_;
  std::unique_ptr<communicator::Communicator> communicator_;  // none for one rank
  bool ready_ = false;
  std::vector<job::TypedBuffer> send_, recv_;  // of alltoallv
};

}  // namespace alm::capi
