// The C interface: arguments checked, exceptions stopped, strings handed over.
#include <allemande/allemande.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "capi/exchange.h"

struct alm_exchange {
  explicit alm_exchange(alm::capi::Settings settings) : exchange(std::move(settings)) {}

  alm::capi::Exchange exchange;
  std::vector<alm::capi::Block> send, recv;
};

namespace {

using alm::capi::Exchange;
using alm::capi::Settings;

// The build system's version and the header's are the same.
static_assert(ALM_VERSION_MAJOR == ALM_BUILD_MAJOR);
static_assert(ALM_VERSION_MINOR == ALM_BUILD_MINOR);
static_assert(ALM_VERSION_PATCH == ALM_BUILD_PATCH);

// No exception leaves the library.
template <class Call>
int guarded(Exchange& exchange, const char* name, Call call) noexcept {
  const Exchange::Turn turn(exchange);
  if (!turn.mine()) return ALM_ERROR_BUSY;
  try {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      return exchange.fail(ALM_ERROR_SYSTEM, fmt::format("{}: out of memory", name));
    } catch (const std::exception& error) {
      return exchange.fail(ALM_ERROR_SYSTEM, fmt::format("{}: {}", name, error.what()));
    }
  } catch (...) {
    return ALM_ERROR_SYSTEM;
  }
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

// It grows at its end: a program built with an older header has no fields from `sites` on.
constexpr std::size_t kOldestConfig = offsetof(alm_exchange_config, sites);

std::string check_sites(const alm_exchange_config& config) {
  if (config.sites == nullptr) return {};
  std::uint64_t sum = 0;
  for (std::uint32_t site = 0; site < config.site_count; ++site) {
    if (config.sites[site] == 0) {
      return fmt::format("config->sites[{}] is 0, expected ranks at each site", site);
    }
    sum += config.sites[site];
  }
  if (sum == config.ranks) return {};
  return fmt::format("config->sites has {} ranks at {} sites, expected all {}", sum,
                     config.site_count, config.ranks);
}

// What is wrong with it; empty: nothing.
std::string check(const alm_exchange_config& config) {
  if (config.ranks < 1 || config.ranks > ALM_RANKS_MAX) {
    return fmt::format("config->ranks is {}, expected 1 to {}", config.ranks, ALM_RANKS_MAX);
  }
  if (config.self >= config.ranks) {
    return fmt::format("config->self is {}, expected 0 to {}", config.self, config.ranks - 1);
  }
  if (config.allgather == nullptr && config.ranks > 1) return "config->allgather is NULL";
  return check_sites(config);
}

// The program's config with what its header does not have as NULL; what is wrong with it, or empty.
std::string read_config(const alm_exchange_config* given, alm_exchange_config& config) {
  if (given == nullptr) return "config is NULL";
  const std::size_t size = given->struct_size;
  if (size != sizeof config && size != kOldestConfig) {
    return fmt::format(
        "config->struct_size is {}, expected {}: begin with ALM_EXCHANGE_CONFIG_INIT", size,
        sizeof config);
  }
  std::memcpy(&config, given, size);
  return check(config);
}

Settings settings_of(const alm_exchange_config& config) {
  Settings settings;
  settings.ranks = config.ranks;
  settings.self = config.self;
  void* const context = config.context;
  settings.allgather = [function = config.allgather, context](const void* mine, std::size_t bytes,
                                                              void* all) {
    return function(context, mine, bytes, all);
  };
  if (config.progress != nullptr) {
    settings.progress = [function = config.progress, context] { function(context); };
  }
  if (config.log != nullptr) {
    settings.log = [function = config.log, context](int level, const std::string& message) {
      function(context, level, message.c_str());
    };
  }
  settings.cluster_file = text_or_empty(config.cluster_file);
  settings.host = text_or_empty(config.host);
  for (const char* const* option = config.options; option != nullptr && *option != nullptr;
       ++option) {
    settings.options.emplace_back(*option);
  }
  if (config.sites != nullptr) {
    settings.options.push_back(
        fmt::format("sites={}", fmt::join(config.sites, config.sites + config.site_count, ",")));
  }
  return settings;
}

int refuse_in_place(Exchange& exchange, const char* name) {
  return exchange.fail(
      ALM_ERROR_ARGUMENT,
      fmt::format("{}: recv is ALM_IN_PLACE, which stands for send alone; expected a buffer",
                  name));
}

// The arrays of one side as blocks; an ALM_ code.
int read_blocks(Exchange& exchange, const char* side, const void* base, const size_t* bytes,
                const size_t* displacements, std::vector<alm::capi::Block>& blocks) {
  constexpr const char* kName = "alm_exchange_alltoallv";
  if (bytes == nullptr || displacements == nullptr) {
    return exchange.fail(ALM_ERROR_ARGUMENT,
                         fmt::format("{}: {}_{} is NULL", kName, side,
                                     bytes == nullptr ? "bytes" : "displacements"));
  }
  blocks.resize(exchange.ranks());
  for (std::uint32_t rank = 0; rank < exchange.ranks(); ++rank) {
    blocks[rank] = {displacements[rank], bytes[rank]};
    if (bytes[rank] == 0) continue;
    if (base == nullptr) {
      return exchange.fail(ALM_ERROR_ARGUMENT, fmt::format("{}: {} is NULL, but {}_bytes[{}] is {}",
                                                           kName, side, side, rank, bytes[rank]));
    }
    const auto room =
        std::numeric_limits<std::uintptr_t>::max() - reinterpret_cast<std::uintptr_t>(base);
    if (bytes[rank] > room || displacements[rank] > room - bytes[rank]) {
      return exchange.fail(ALM_ERROR_ARGUMENT,
                           fmt::format("{}: {}_displacements[{}] + {}_bytes[{}] is beyond the "
                                       "address space",
                                       kName, side, rank, side, rank));
    }
  }
  return ALM_OK;
}

}  // namespace

int alm_version(void) {
  return ALM_VERSION_MAJOR * 10000 + ALM_VERSION_MINOR * 100 + ALM_VERSION_PATCH;
}

const char* alm_version_string(void) { return ALM_BUILD_VERSION; }

const char* alm_error_name(int code) {
  switch (code) {
#define ALM_NAME(name) \
  case name:           \
    return #name;
    ALM_NAME(ALM_OK)
    ALM_NAME(ALM_ERROR_ARGUMENT)
    ALM_NAME(ALM_ERROR_CONFIG)
    ALM_NAME(ALM_ERROR_BOOTSTRAP)
    ALM_NAME(ALM_ERROR_UNAVAILABLE)
    ALM_NAME(ALM_ERROR_PEER_LOST)
    ALM_NAME(ALM_ERROR_MISMATCH)
    ALM_NAME(ALM_ERROR_BUSY)
    ALM_NAME(ALM_ERROR_SYSTEM)
#undef ALM_NAME
  }
  return "unknown error";
}

int alm_exchange_create(const alm_exchange_config* config, alm_exchange** exchange) {
  if (exchange == nullptr) return ALM_ERROR_ARGUMENT;
  *exchange = nullptr;
  try {
    alm_exchange_config read = ALM_EXCHANGE_CONFIG_INIT;
    const std::string wrong = read_config(config, read);
    *exchange = new alm_exchange(wrong.empty() ? settings_of(read) : Settings{});
    Exchange& made = (*exchange)->exchange;
    if (!wrong.empty()) return made.fail(ALM_ERROR_ARGUMENT, "alm_exchange_create: " + wrong);
    return guarded(made, "alm_exchange_create", [&] { return made.open(); });
  } catch (...) {
    return ALM_ERROR_SYSTEM;
  }
}

void alm_exchange_destroy(alm_exchange* exchange) { delete exchange; }

uint32_t alm_exchange_ranks(const alm_exchange* exchange) {
  return exchange == nullptr ? 0 : exchange->exchange.ranks();
}

uint32_t alm_exchange_self(const alm_exchange* exchange) {
  return exchange == nullptr ? 0 : exchange->exchange.self();
}

int alm_exchange_alltoall(alm_exchange* exchange, const void* send, void* recv,
                          size_t bytes_per_rank) {
  constexpr const char* kName = "alm_exchange_alltoall";
  if (exchange == nullptr) return ALM_ERROR_ARGUMENT;
  Exchange& made = exchange->exchange;
  return guarded(made, kName, [&] {
    if (send == nullptr && bytes_per_rank > 0) {
      return made.fail(ALM_ERROR_ARGUMENT,
                       fmt::format("{}: send is NULL; expected a buffer or ALM_IN_PLACE", kName));
    }
    if (recv == ALM_IN_PLACE) return refuse_in_place(made, kName);
    const auto* from = send == ALM_IN_PLACE ? nullptr : static_cast<const std::byte*>(send);
    return made.alltoall(kName, from, static_cast<std::byte*>(recv), bytes_per_rank);
  });
}

int alm_exchange_alltoallv(alm_exchange* exchange, const void* send, const size_t* send_bytes,
                           const size_t* send_displacements, void* recv, const size_t* recv_bytes,
                           const size_t* recv_displacements) {
  constexpr const char* kName = "alm_exchange_alltoallv";
  if (exchange == nullptr) return ALM_ERROR_ARGUMENT;
  Exchange& made = exchange->exchange;
  return guarded(made, kName, [&] {
    const bool in_place = send == ALM_IN_PLACE;
    if (recv == ALM_IN_PLACE) return refuse_in_place(made, kName);
    if (!in_place) {
      const int code =
          read_blocks(made, "send", send, send_bytes, send_displacements, exchange->send);
      if (code != ALM_OK) return code;
    }
    const int code =
        read_blocks(made, "recv", recv, recv_bytes, recv_displacements, exchange->recv);
    if (code != ALM_OK) return code;
    // With nothing to send from, any address that is not in place will do.
    static constexpr std::byte kNothing{};
    const auto* from = send == nullptr ? &kNothing : static_cast<const std::byte*>(send);
    return made.alltoallv(kName, in_place ? nullptr : from, exchange->send,
                          static_cast<std::byte*>(recv), exchange->recv);
  });
}

const char* alm_error_message(const alm_exchange* exchange) {
  if (exchange == nullptr) return "there is no exchange (a null pointer)";
  return exchange->exchange.error().c_str();
}

int alm_exchange_counters(alm_exchange* exchange, char* text, size_t capacity, size_t* length) {
  if (exchange == nullptr) return ALM_ERROR_ARGUMENT;
  Exchange& made = exchange->exchange;
  return guarded(made, "alm_exchange_counters", [&] {
    if (text == nullptr && capacity > 0) {
      return made.fail(
          ALM_ERROR_ARGUMENT,
          fmt::format("alm_exchange_counters: text is NULL, but capacity is {}", capacity));
    }
    const std::string json = made.counters_json();
    if (length != nullptr) *length = json.size();
    if (capacity > 0) {
      const std::size_t copied = std::min(json.size(), capacity - 1);
      std::memcpy(text, json.data(), copied);
      text[copied] = '\0';
    }
    return static_cast<int>(ALM_OK);
  });
}
