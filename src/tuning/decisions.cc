#include "tuning/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>

#include "base/toml.h"

namespace alm::tuning {
namespace {

// Format 1 knew ways by their names alone, which are worded anew from time to time.
constexpr std::int64_t kFormat = 2;
constexpr std::size_t kDecisionsMax = 1024;
constexpr std::size_t kTextMax = 200;
constexpr std::size_t kWaysMax = 16;
constexpr double kMicrosecondsMax = 1e12;

// Printable characters only, so that any TOML reader takes it.
std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kTextMax)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= ' ' && c <= '~' ? c : ' ';
  }
  return out + '"';
}

double microseconds(base::Nanos time) {
  return static_cast<double>(time) / static_cast<double>(base::kMicrosecond);
}

// Reads one table; remembers the first thing wrong.
class Reader {
 public:
  Reader(const toml::table& table, std::string& wrong) : table_(table), wrong_(wrong) {}

  void text(std::string_view key, std::string& out) {
    const auto value = table_[key].value<std::string>();
    if (value && !value->empty() && value->size() <= kTextMax) {
      out = *value;
    } else {
      complain(key, "a text");
    }
  }

  // Where it is there at all: files of earlier versions do not have it.
  bool has(std::string_view key) const { return table_.contains(key); }

  template <class Number>
  void integer(std::string_view key, std::int64_t least, Number& out) {
    const auto value = table_[key].value_exact<std::int64_t>();
    constexpr std::int64_t kLargest = sizeof(Number) < 8 ? 0xffff'ffff : INT64_MAX;
    if (value && *value >= least && *value <= kLargest) {
      out = static_cast<Number>(*value);
    } else {
      complain(key, fmt::format("an integer from {}", least));
    }
  }

  void microseconds(std::string_view key, base::Nanos& out) {
    const auto value = table_[key].value<double>();
    if (value && *value >= 0 && *value <= kMicrosecondsMax) {
      out = std::llround(*value * static_cast<double>(base::kMicrosecond));
    } else {
      complain(key, "microseconds");
    }
  }

  const toml::array* array(std::string_view key) {
    const auto* found = table_[key].as_array();
    if (found == nullptr || found->empty() || found->size() > kWaysMax) {
      complain(key, fmt::format("1 to {} tables", kWaysMax));
      return nullptr;
    }
    return found;
  }

  void complain(std::string_view key, std::string_view expected) {
    if (!wrong_.empty()) return;
    wrong_ = fmt::format("line {}: `{}` is missing or not valid; expected {}",
                         table_.source().begin.line, key, expected);
  }

 private:
  const toml::table& table_;
  std::string& wrong_;
};

Decision read(const toml::table& table, std::string& wrong) {
  Decision decision;
  decision.line = static_cast<std::uint32_t>(table.source().begin.line);
  Reader reader(table, wrong);
  reader.text("version", decision.shape.version);
  reader.text("mpi", decision.shape.mpi);
  reader.text("configuration", decision.shape.configuration);
  if (reader.has("profile")) reader.text("profile", decision.shape.profile);
  if (reader.has("network")) reader.text("network", decision.shape.network);
  reader.text("calls", decision.calls);
  reader.integer("ranks", 2, decision.ranks);
  reader.integer("hosts", 1, decision.hosts);
  reader.integer("least_bytes", 1, decision.least_bytes);
  reader.integer("most_bytes", 1, decision.most_bytes);
  reader.text("chosen", decision.chosen);
  reader.text("why", decision.why);
  const auto* ways = reader.array("way");
  if (ways == nullptr) return decision;
  for (const auto& node : *ways) {
    const auto* one = node.as_table();
    if (one == nullptr) {
      reader.complain("way", "tables");
      return decision;
    }
    auto& way = decision.ways.emplace_back();
    Reader of_way(*one, wrong);
    of_way.text("key", way.key);
    of_way.text("name", way.name);
    of_way.microseconds("time_us", way.time);
    of_way.integer("seen", 0, way.seen);
    of_way.integer("packets", 0, way.packets);
    if (of_way.has("predicted_us")) of_way.microseconds("predicted_us", way.predicted);
  }
  const Decision::Way* chosen = decision.chosen_way();
  if (chosen == nullptr || chosen->time <= 0)
    reader.complain("chosen", "the key of a way that was tried");
  return decision;
}

std::string table_text(const Decision& one) {
  std::string text = fmt::format("\n[[decision]]\nversion = {}\nmpi = {}\nconfiguration = {}\n",
                                 toml_text(one.shape.version), toml_text(one.shape.mpi),
                                 toml_text(one.shape.configuration));
  if (!one.shape.profile.empty()) {
    text += fmt::format("profile = {}\n", toml_text(one.shape.profile));
  }
  if (!one.shape.network.empty()) {
    text += fmt::format("network = {}\n", toml_text(one.shape.network));
  }
  text += fmt::format(
      "calls = {}\nranks = {}\nhosts = {}\nleast_bytes = {}\nmost_bytes = {}\nchosen = {}\n"
      "why = {}\nway = [\n",
      toml_text(one.calls), one.ranks, one.hosts, one.least_bytes, one.most_bytes,
      toml_text(one.chosen), toml_text(one.why));
  for (const auto& way : one.ways) {
    text += fmt::format("  {{ key = {}, name = {}, time_us = {:.3f}, seen = {}, packets = {}",
                        toml_text(way.key), toml_text(way.name), microseconds(way.time), way.seen,
                        way.packets);
    if (way.predicted > 0) {
      text += fmt::format(", predicted_us = {:.3f}", microseconds(way.predicted));
    }
    text += " },\n";
  }
  return text + "]\n";
}

}  // namespace

const Decision::Way* Decision::way(std::string_view key) const {
  const auto found =
      std::find_if(ways.begin(), ways.end(), [&](const Way& way) { return way.key == key; });
  return found == ways.end() ? nullptr : &*found;
}

bool Decision::operator==(const Decision& other) const {
  const auto fields = [](const Decision& one) {
    return std::tie(one.shape, one.calls, one.ranks, one.hosts, one.least_bytes, one.most_bytes,
                    one.chosen, one.why, one.ways);
  };
  return fields(*this) == fields(other);
}

std::optional<std::size_t> way_found(const Trial& trial) {
  const auto found = trial.has_decided() ? trial.chosen() : best_seen(trial.standings());
  const std::size_t least = trial.has_decided() ? 1 : TrialRules::kSettled;
  return found && trial.sightings(*found) >= least ? found : std::nullopt;
}

bool counts(const Decision& decision, const Decision::Way& way) {
  const Decision::Way* chosen = decision.chosen_way();
  if (chosen == nullptr || &way == chosen || way.seen >= TrialRules::kOneByOne) return true;
  const double times = base::ratio(way.time, chosen->time);
  return times > TrialRules::kAside ||
         clearly_behind(times, way.seen, chosen->time < TrialRules::kShort);
}

std::string why_chosen(const Trial& trial) {
  const std::size_t chosen = way_found(trial).value_or(trial.chosen());
  std::size_t fastest = chosen;
  std::size_t seen = 0;
  std::size_t hopeless = 0;
  for (std::size_t way = 0; way < trial.standings().size(); ++way) {
    if (trial.time(way) == 0) {
      if (trial.standings().cannot_win(way)) ++hopeless;
      continue;
    }
    ++seen;
    if (trial.time(way) < trial.time(fastest)) fastest = way;
  }
  if (trial.standings().at_limit() && fastest == chosen) return "as fast as the links allow";
  std::string text = fmt::format("the fastest of {}", seen);
  if (fastest != chosen) text = fmt::format("preferred, and none of {} is clearly faster", seen);
  if (!trial.has_decided()) text += " so far";
  if (hopeless > 0) text += fmt::format("; of {} the packets alone take longer", hopeless);
  if (const std::size_t dear = trial.standings().size() - seen - hopeless; dear > 0) {
    text += fmt::format("; {} too dear to be tried yet", dear);
  }
  return text;
}

bool refutes_predictions(const Trial& trial) {
  const std::size_t way = trial.chosen();
  const base::Nanos predicted = trial.standings()[way].predicted;
  if (!trial.has_decided()) return false;
  if (trial.standings()[way].refuted) return true;
  if (predicted <= 0) return false;
  const double times = base::ratio(trial.time(way), predicted);
  if (times * TrialRules::kFarOff < 1) return true;  // nothing makes a call that much shorter
  return times > TrialRules::kFarOff && trial.sightings(way) >= TrialRules::kOneByOne;
}

bool same_subject(const Decision& a, const Decision& b) {
  return a.shape == b.shape && a.calls == b.calls && a.ranks == b.ranks && a.hosts == b.hosts &&
         a.least_bytes == b.least_bytes && !a.ways.empty() && !b.ways.empty() &&
         a.ways.front().key == b.ways.front().key;
}

void merge(std::vector<Decision>& all, Decision decision) {
  std::erase_if(all, [&](const Decision& old) { return same_subject(old, decision); });
  all.push_back(std::move(decision));
  if (all.size() > kDecisionsMax) all.erase(all.begin());
}

std::string format_decisions(std::span<const Decision> all) {
  std::string text = fmt::format(
      "# Which way exchanges took, over which others, and why. Written by allemande;\n"
      "# `allemande explain FILE` prints it. Times are those of the slowest rank.\n"
      "decisions = {}\n",
      kFormat);
  std::vector<std::string> tables;  // the latest first
  std::size_t bytes = text.size();
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    tables.push_back(table_text(*one));
    bytes += tables.back().size();
    if (bytes > kDecisionFileBytesMax) {
      tables.pop_back();
      break;
    }
  }
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) text += *table;
  return text;
}

base::Result<std::vector<Decision>> parse_decisions(std::string_view text, std::string_view file) {
  const auto refuse = [&](std::string_view what) {
    return base::bad_input(fmt::format("{} is no decision file of allemande: {}", file, what));
  };
  if (text.size() > kDecisionFileBytesMax) return refuse("it is larger than 1 MiB");
  const auto parsed = base::parse_toml(text, file);
  if (!parsed) return refuse(parsed.error().message);
  const toml::table& root = parsed.value();
  const auto format = root["decisions"].value_exact<std::int64_t>();
  if (format && *format > 0 && *format < kFormat) {
    return base::bad_input(fmt::format(
        "{} has format {} of an earlier version, which this one does not read; expected "
        "`decisions = {}`. Remove it, or name another file",
        file, *format, kFormat));
  }
  if (format != kFormat) {
    return refuse(fmt::format("it does not say `decisions = {}`", kFormat));
  }
  std::vector<Decision> all;
  const auto* list = root["decision"].as_array();
  if (list == nullptr) {
    return root.contains("decision")
               ? base::Result<std::vector<Decision>>(refuse("`decision` is no array of tables"))
               : all;
  }
  if (list->size() > kDecisionsMax) return refuse("it holds too many decisions");
  for (const auto& node : *list) {
    const auto* table = node.as_table();
    if (table == nullptr) return refuse("`decision` is no array of tables");
    std::string wrong;
    all.push_back(read(*table, wrong));
    if (!wrong.empty()) return refuse(wrong);
  }
  return all;
}

}  // namespace alm::tuning
