#include "job/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace alm::job {
namespace {

static_assert(std::is_trivially_copyable_v<StatsRecord>);

// EndpointCounters hold nothing but 64-bit counts: they are added word by word.
template <class Counts>
void add_words(Counts& total, const Counts& more) {
  static_assert(std::is_trivially_copyable_v<Counts> &&
                sizeof(Counts) % sizeof(std::uint64_t) == 0);
  std::array<std::uint64_t, sizeof(Counts) / sizeof(std::uint64_t)> sum;
  std::array<std::uint64_t, sizeof(Counts) / sizeof(std::uint64_t)> words;
  std::memcpy(sum.data(), &total, sizeof total);
  std::memcpy(words.data(), &more, sizeof more);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += words[i];
  std::memcpy(static_cast<void*>(&total), sum.data(), sizeof total);
}

// Where one path is in use, the packets are not counted by path.
std::string paths_json(const transport::Counters& channel) {
  const auto& loads = channel.path_loads;
  std::size_t paths = loads.size();
  while (paths > 0 && loads[paths - 1] == 0) --paths;
  if (paths == 0) return std::to_string(channel.data_sent + channel.data_retransmitted);
  return fmt::format("{}",
                     fmt::join(loads.begin(), loads.begin() + static_cast<long>(paths), ", "));
}

std::string sizes_json(const StatsRecord& stats) {
  std::string text;
  for (const auto& size : stats.sizes) {
    if (size.exchanges == 0) continue;
    text += fmt::format(
        "{}\n    {{\"bytes\": {}, \"exchanges\": {}, \"packets\": {}, \"retransmitted\": {}}}",
        text.empty() ? "" : ",", size.bytes, size.exchanges, size.packets, size.retransmitted);
  }
  return text;
}

// Texts of ways are ours, but may hold names that somebody else has given.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return out + "\"";
}

std::string calls_json(const StatsRecord& stats) {
  std::string text;
  for (const auto& line : stats.calls) {
    if (line.calls == 0) continue;
    tally::Line sizes;
    sizes.width = line.width;
    text += fmt::format(
        "{}\n    {{\"function\": \"{}\", \"bytes_least\": {}, \"bytes_most\": {}, \"way\": {}, "
        "\"calls\": {}, \"seconds\": {:.9f}}}",
        text.empty() ? "" : ",", tally::name_of(line.function), sizes.least_bytes(),
        sizes.most_bytes(), quoted(line.way.data()), line.calls,
        static_cast<double>(line.time) / static_cast<double>(base::kSecond));
  }
  return text;
}

}  // namespace

void StatsRecord::add_calls(const Calls& more) {
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const Calls& line) {
    return line.calls == 0 ||
           (line.function == more.function && line.width == more.width && line.way == more.way);
  });
  Calls& line = found == calls.end() ? calls.back() : *found;
  if (line.calls == 0) {
    line = more;
    return;
  }
  line.calls += more.calls;
  line.time += more.time;
}

void add_tally(StatsRecord& record, const tally::Tally& tally) {
  for (std::size_t i = 0; i < tally.size(); ++i) {
    const tally::Line& line = tally.line(i);
    StatsRecord::Calls calls;
    calls.function = line.function;
    calls.width = line.width;
    const std::string& way = tally.text_of(line.way);
    std::copy_n(way.begin(), std::min(way.size(), calls.way.size() - 1), calls.way.begin());
    calls.calls = line.calls;
    calls.time = line.time;
    record.add_calls(calls);
  }
}

StatsRecord::Size& StatsRecord::size(std::uint64_t bytes) {
  const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const Size& line) {
    return line.bytes == bytes || line.bytes == 0;
  });
  Size& line = found == sizes.end() ? sizes.back() : *found;
  if (line.bytes == 0) line.bytes = bytes;
  return line;
}

void add(StatsRecord& total, const StatsRecord& more) {
  total.exchanges += more.exchanges;
  total.nonblocking += more.nonblocking;
  total.passed_through += more.passed_through;
  total.native += more.native;
  total.over_udp += more.over_udp;
  total.over_mpi += more.over_mpi;
  total.mpi_messages += more.mpi_messages;
  total.rejected_unknown += more.rejected_unknown;
  total.channel += more.channel;
  add_words(total.endpoint, more.endpoint);
  for (const auto& line : more.sizes) {
    if (line.bytes == 0) continue;
    auto& sum = total.size(line.bytes);
    sum.exchanges += line.exchanges;
    sum.packets += line.packets;
    sum.retransmitted += line.retransmitted;
  }
  for (const auto& line : more.calls) {
    if (line.calls > 0) total.add_calls(line);
  }
}

std::string to_json(const StatsRecord& stats, std::uint32_t ranks) {
  const auto& channel = stats.channel;
  const auto& endpoint = stats.endpoint;
  std::string text = fmt::format("{{\n  \"ranks\": {}", ranks);
  const auto line = [&](std::string_view key, std::uint64_t value) {
    text += fmt::format(",\n  \"{}\": {}", key, value);
  };
  line("exchanges", stats.exchanges);
  line("nonblocking", stats.nonblocking);
  line("passed_through", stats.passed_through);
  line("native", stats.native);
  line("communicators_udp", stats.over_udp);
  line("communicators_mpi", stats.over_mpi);
  line("mpi_messages", stats.mpi_messages);
  line("packets", channel.data_sent);
  line("retransmitted", channel.data_retransmitted);
  line("window_cuts", channel.window_cuts);
  line("window_least", channel.window_least);
  line("files_distrusted", channel.files_distrusted);
  line("acks", channel.acks_sent);
  line("probes", channel.probes_sent);
  line("parities", channel.parities_sent);
  line("recovered", channel.data_recovered);
  line("received", channel.data_received);
  line("duplicates", channel.duplicates_received);
  line("early_held", channel.early_held);
  line("early_dropped", channel.early_dropped);
  line("rejected_unknown", stats.rejected_unknown);
  line("rejected_checksum", channel.rejected_checksum);
  line("rejected_malformed", channel.rejected_malformed);
  line("rejected_stale", channel.rejected_stale);
  line("datagrams_sent", endpoint.datagrams_sent);
  line("datagrams_received", endpoint.datagrams_received);
  line("send_calls", endpoint.send_calls);
  line("receive_calls", endpoint.receive_calls);
  line("waits", endpoint.waits);
  line("would_block", endpoint.would_block);
  line("no_buffers", endpoint.no_buffers);
  line("receive_overflow", endpoint.receive_overflow);
  line("refused", endpoint.refused);
  line("gso_fallbacks", endpoint.gso_fallbacks);
  line("path_silences", channel.path_silences);
  text += fmt::format(",\n  \"path_loads\": [{}]", paths_json(channel));
  return text + ",\n  \"sizes\": [" + sizes_json(stats) + "],\n  \"calls\": [" + calls_json(stats) +
         "]\n}\n";
}

base::Status write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (written && closed) return {};
  return base::io_error(
      fmt::format("ALLEMANDE_STATS: cannot write {}: {}", path, std::strerror(errno)));
}

std::string path_for_rank(const std::string& path, std::uint32_t rank) {
  std::string out = path;
  for (auto at = out.find("%r"); at != std::string::npos; at = out.find("%r", at)) {
    out.replace(at, 2, std::to_string(rank));
  }
  return out;
}

}  // namespace alm::job
