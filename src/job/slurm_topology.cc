#include "job/slurm_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "base/letters.h"

namespace alm::job {
namespace {

using Lines = std::vector<std::pair<std::size_t, std::string>>;  // with their numbers

struct Switch {
  std::string name, nodes, children;
  std::size_t line = 0;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return out;
}

base::Error wrong(std::string_view file, std::size_t line, const std::string& what) {
  return base::bad_input(fmt::format("{}:{}: {}", file, line, what));
}

// Names that all lists together may have: what is looked through in some tenths of a second.
constexpr std::size_t kNamesMax = 16 * base::kHostlistMax;

// `left`: of those.
bool names(std::string_view list, std::string_view name, std::size_t& left, base::Error& error) {
  if (list.empty()) return false;
  const auto all = base::expand_hostlist(list);
  if (!all) {
    error = all.error();
    return false;
  }
  if (all.value().size() > left) {
    error = base::bad_input(fmt::format(
        "the lists of nodes and switches up to here have more than {} names", kNamesMax));
    return false;
  }
  left -= all.value().size();
  return std::find(all.value().begin(), all.value().end(), name) != all.value().end();
}

// Who has `name` in the list that `list_of` gives; null: nobody.
template <class ListOf>
base::Result<const Switch*> above(const std::vector<Switch>& switches, std::string_view file,
                                  std::string_view name, std::size_t& left, const ListOf& list_of) {
  for (const Switch& one : switches) {
    base::Error error;
    const bool has = one.name != name && names(list_of(one), name, left, error);
    if (!error.message.empty()) return wrong(file, one.line, error.message);
    if (has) return &one;
  }
  return nullptr;
}

base::Result<std::string> chain(const std::vector<Switch>& switches, std::string_view file,
                                std::string_view node) {
  std::size_t left = kNamesMax;
  auto found = above(switches, file, node, left, [](const Switch& one) { return one.nodes; });
  if (found && found.value() == nullptr) {
    return base::bad_input(fmt::format("{}: no switch has the node {}", file, node));
  }
  std::string all;
  for (std::size_t levels = 0; found && found.value() != nullptr; ++levels) {
    const Switch& one = *found.value();
    if (levels == switches.size()) return wrong(file, one.line, one.name + " is below itself");
    all = all.empty() ? one.name : one.name + "." + all;
    found = above(switches, file, one.name, left, [](const Switch& up) { return up.children; });
  }
  if (!found) return found.error();
  return all;
}

// Lines that end in a backslash go on in the next.
Lines lines_of(std::string_view text, bool joined) {
  Lines lines;
  bool goes_on = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && line.back() == '\r') line.pop_back();
    if (!joined) {
      lines.emplace_back(number, std::move(line));
      continue;
    }
    line.resize(std::min(line.find('#'), line.size()));
    const std::string_view shown = base::trim(line);
    const bool more = !shown.empty() && shown.back() == '\\';
    const std::string_view kept = more ? shown.substr(0, shown.size() - 1) : shown;
    if (goes_on) {
      lines.back().second.append(" ").append(kept);
    } else {
      lines.emplace_back(number, kept);
    }
    goes_on = more;
  }
  return lines;
}

// KEY=VALUE, with blanks around the `=` and quotes around the value if the writer liked them.
// Nothing: what stands there is something else.
std::optional<std::pair<std::string, std::string>> next_pair(std::string_view& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = base::trim(line.substr(0, equals));
  line = base::trim(line.substr(equals + 1));
  const bool quoted = !line.empty() && line.front() == '"';
  if (quoted) line.remove_prefix(1);
  const std::size_t end = std::min(line.find_first_of(quoted ? "\"" : " \t"), line.size());
  std::pair found(lower(key), std::string(line.substr(0, end)));
  line.remove_prefix(std::min(end + (quoted ? 1 : 0), line.size()));
  line = base::trim(line);
  if (key.empty() || key.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  return found;
}

// A plain line of block YAML: "- switch: s1  # a comment".
struct YamlLine {
  bool item = false;       // it begins an item of a list
  std::size_t indent = 0;  // of the key
  std::string key, value;
};

// Nothing: it says nothing of a key. Text in quotes loses them.
std::optional<YamlLine> yaml_line(std::string_view line) {
  YamlLine out;
  std::size_t at = line.find_first_not_of(' ');
  while (at != std::string_view::npos && line.substr(at).starts_with("- ")) {
    out.item = true;
    at = line.find_first_not_of(' ', at + 1);
  }
  if (at == std::string_view::npos || line[at] == '#') return std::nullopt;
  out.indent = at;
  line.remove_prefix(at);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  if (colon + 1 < line.size() && line[colon + 1] != ' ') return std::nullopt;
  out.key = base::trim(line.substr(0, colon));
  std::string_view value = base::trim(line.substr(colon + 1));
  const bool quoted = !value.empty() && (value.front() == '"' || value.front() == '\'');
  if (quoted) {
    value = value.substr(1, value.find(value.front(), 1) - 1);
  } else {
    if (value.starts_with('#')) value = {};
    value = base::trim(value.substr(0, value.find(" #")));
  }
  out.value = value;
  return out;
}

struct Topology {
  std::string name;
  std::size_t line = 0;
  bool is_default = false, is_tree = false;
  std::vector<Switch> switches;
};

// What cannot be read that way stands in what we look for: then its value is no plain text.
bool is_plain(std::string_view value) {
  return value.empty() || std::string_view("{[&*|>!").find(value.front()) == std::string_view::npos;
}

base::Result<std::vector<Topology>> topologies_in(std::string_view text, std::string_view file) {
  std::vector<Topology> all;
  std::vector<std::pair<std::size_t, std::string>> open;  // keys around this line, by indent
  for (const auto& [number, line] : lines_of(text, false)) {
    if (line.find('\t') != std::string::npos) {
      return wrong(file, number, "a tab; expected blanks, as YAML has them");
    }
    const auto found = yaml_line(line);
    if (!found) continue;
    while (!open.empty() && open.back().first >= found->indent) open.pop_back();
    const bool of_entry = open.empty();
    const bool of_switch =
        open.size() == 2 && open[0].second == "tree" && open[1].second == "switches";
    if (of_entry && found->item) all.push_back({{}, number, false, false, {}});
    if (all.empty()) return wrong(file, number, "expected a list of topologies: - topology: NAME");
    Topology& last = all.back();
    if (of_switch && found->item) last.switches.push_back({{}, {}, {}, number});
    const bool known = of_entry || of_switch || (open.size() == 1 && open[0].second == "tree");
    if (known && found->key != "block" && !is_plain(found->value)) {
      return wrong(file, number, fmt::format("`{}` is no plain text", found->key));
    }
    if (of_entry && found->key == "topology") last.name = found->value;
    if (of_entry && found->key == "tree") last.is_tree = true;
    if (of_entry && found->key == "cluster_default")
      last.is_default = lower(found->value) == "true";
    if (of_switch && !last.switches.empty()) {
      Switch& one = last.switches.back();
      if (found->key == "switch") one.name = found->value;
      if (found->key == "nodes") one.nodes = found->value;
      if (found->key == "children") one.children = found->value;
    }
    if (found->value.empty()) open.emplace_back(found->indent, found->key);
  }
  return all;
}

}  // namespace

base::Result<std::string> switches_in_conf(std::string_view text, std::string_view file,
                                           std::string_view node) {
  std::vector<Switch> switches;
  for (const auto& [number, whole] : lines_of(text, true)) {
    Switch one;
    one.line = number;
    std::string_view line = whole;
    while (!line.empty()) {
      const auto pair = next_pair(line);
      if (!pair) return wrong(file, number, "expected KEY=VALUE");
      if (pair->first == "switchname") one.name = pair->second;
      if (pair->first == "nodes") one.nodes = pair->second;
      if (pair->first == "switches") one.children = pair->second;
    }
    if (!one.name.empty()) switches.push_back(std::move(one));
  }
  if (switches.empty()) return base::bad_input(fmt::format("{}: names no switches", file));
  return chain(switches, file, node);
}

base::Result<std::string> switches_in_yaml(std::string_view text, std::string_view file,
                                           std::string_view node) {
  const auto all = topologies_in(text, file);
  if (!all) return all.error();
  const Topology* taken = nullptr;
  std::size_t trees = 0;
  for (const Topology& one : all.value()) {
    if (!one.is_tree) continue;
    ++trees;
    if (taken == nullptr || (one.is_default && !taken->is_default)) taken = &one;
  }
  if (taken == nullptr) return base::bad_input(fmt::format("{}: has no tree of switches", file));
  if (!taken->is_default && trees > 1) {
    return base::bad_input(
        fmt::format("{}: has {} trees of switches, and none is the default", file, trees));
  }
  return chain(taken->switches, file, node);
}

}  // namespace alm::job
