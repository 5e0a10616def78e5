#include "tally/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace alm::tally {
namespace {

// Appends to a buffer as far as there is room.
class Writer {
 public:
  explicit Writer(std::span<char> out) : out_(out) {}

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    const std::size_t room = out_.size() - size_;
    const auto done =
        fmt::format_to_n(out_.data() + size_, room, format, std::forward<Values>(values)...);
    size_ += std::min(done.size, room);
  }
  std::size_t size() const { return size_; }

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
};

// "3.21 ms" in a small buffer of its own.
struct Duration {
  std::array<char, 16> text{};
  std::size_t size = 0;

  explicit Duration(base::Nanos time) {
    const auto value = static_cast<double>(time);
    Writer writer(text);
    if (time >= base::kSecond) {
      if (value < 1e11)
        writer.add("{:.3g} s", value / 1e9);
      else
        writer.add("{:.0f} s", value / 1e9);
    } else if (time >= base::kMillisecond) {
      writer.add("{:.3g} ms", value / 1e6);
    } else {
      writer.add("{:.3g} us", value / 1e3);
    }
    size = writer.size();
  }
  std::string_view view() const { return {text.data(), size}; }
};

struct Sizes {
  std::array<char, 48> text{};
  std::size_t size = 0;

  explicit Sizes(const Line& line) {
    Writer writer(text);
    if (line.least_bytes() == line.most_bytes())
      writer.add("{}", line.least_bytes());
    else
      writer.add("{}-{}", line.least_bytes(), line.most_bytes());
    size = writer.size();
  }
  std::string_view view() const { return {text.data(), size}; }
};

// Whether `one` stands above `other`.
bool before(const Line& one, const Line& other) {
  if (one.function != other.function) return one.function < other.function;
  if (one.width != other.width) return one.width < other.width;
  return one.calls > other.calls;
}

}  // namespace

std::size_t write_summary(const Tally& tally, const Subject& subject, std::span<char> out) {
  Writer writer(out);
  std::array<const Line*, Tally::kLines> lines;
  const std::size_t size = tally.size();
  std::uint64_t calls = 0;
  base::Nanos time = 0;
  for (std::size_t i = 0; i < size; ++i) {
    lines[i] = &tally.line(i);
    calls += lines[i]->calls;
    time += lines[i]->time;
  }
  const base::Nanos passed = subject.now - tally.begun();
  writer.add("allemande: summary of rank {} of {}, {}: {} after MPI_Init, {} exchange{}",
             subject.rank, subject.ranks, subject.end, Duration(passed).view(), calls,
             calls == 1 ? "" : "s");
  if (calls == 0) {
    writer.add("\n");
    return writer.size();
  }
  writer.add(
      " in {} ({:.1f} %)\n", Duration(time).view(),
      100 * static_cast<double>(time) / static_cast<double>(std::max<base::Nanos>(passed, 1)));
  writer.add("  {:<14} {:>17} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", "function",
             "bytes to each", "calls", "time", "P50", "P90", "P99", "of bound", "way");
  // Insertion sort: the standard one may allocate, or go deep on the stack of a signal handler.
  for (std::size_t i = 1; i < size; ++i) {
    for (std::size_t at = i; at > 0 && before(*lines[at], *lines[at - 1]); --at) {
      std::swap(lines[at], lines[at - 1]);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    const Line& line = *lines[i];
    writer.add("  {:<14} {:>17} {:>9} ", name_of(line.function), Sizes(line).view(), line.calls);
    if (line.times.total() > 0) {
      writer.add("{:>8} {:>8} {:>8} {:>8} ", Duration(line.time).view(),
                 Duration(line.times.quantile(0.5)).view(),
                 Duration(line.times.quantile(0.9)).view(),
                 Duration(line.times.quantile(0.99)).view());
    } else {
      writer.add("{:>8} {:>8} {:>8} {:>8} ", "-", "-", "-", "-");
    }
    if (line.time_of_bound > 0) {
      writer.add("{:>6.1f} %",
                 100 * static_cast<double>(line.bound) / static_cast<double>(line.time_of_bound));
    } else {
      writer.add("{:>8}", "-");
    }
    writer.add("  {}\n", tally.text_of(line.way));
  }
  return writer.size();
}

}  // namespace alm::tally
