#include "scenario/options.h"

#include <limits>

#include "model/stock_schedule.h"
#include "paths/policy.h"
#include "scenario/reader.h"
#include "wire/header.h"

namespace alm::scenario {

// Found by the type alone, where lists of it are read.
static bool is_a(const Value& value, RoutesOfPair& out) {
  const auto* row = std::get_if<List>(&value.held);
  return row != nullptr && row->size() == 3 && is_a((*row)[0], out.from) &&
         is_a((*row)[1], out.to) && is_a((*row)[2], out.routes);
}

namespace {

BackgroundFlow read_background(Reader& reader) {
  BackgroundFlow out;
  reader.read("from", out.from, Name());
  reader.read("to", out.to, Name());
  reader.read("rate_mbit_s", out.rate_mbit_s, number(0, kMbitMax));
  return out;
}

Overheads read_overheads(Reader& reader) {
  constexpr Time kNanos{sim::kPicosPerNano};
  Overheads out;
  reader.read("o_s", out.o_s, kNanos);
  reader.read("u_r", out.u_r, kNanos);
  reader.read("o_r", out.o_r, kNanos);
  reader.read("g", out.g, kNanos);
  reader.read("turn", out.turn, kNanos);
  return out;
}

Fault read_fault(Reader& reader) {
  using Kind = sim::Fault::Kind;
  constexpr double kAny = std::numeric_limits<double>::infinity();
  Fault out;
  std::string kind;
  reader.read("kind", kind, one_of("link-down", "lossy-link", "block-port", "slow-host"));
  if (kind == "slow-host") {
    out.what.kind = Kind::kSlowHost;
    out.what.factor = 2;
    reader.read("host", out.host, Name());
    reader.read("factor", out.what.factor, number(-kAny, kAny));
  } else {
    reader.read("from", out.from, Name());
    reader.read("to", out.to, Name());
  }
  if (kind == "link-down" || kind == "block-port") {
    out.what.kind = kind == "link-down" ? Kind::kLinkDown : Kind::kBlockPort;
    reader.read("after_packets", out.what.after_packets, count());
  } else if (kind == "lossy-link") {
    out.what.kind = Kind::kLossyLink;
    reader.read("part", out.what.part, number(-kAny, kAny));
    reader.read("seed", out.what.seed, count());
  }
  reader.read("start_us", out.what.start, Time{sim::kPicosPerMicro});
  reader.read("duration_us", out.what.duration, Time{sim::kPicosPerMicro});
  if (kind == "block-port") reader.read("duration_packets", out.duration_packets, number(0, kAny));
  return out;
}

Module read_module(Reader& reader) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  Module out;
  reader.read("from", out.from, Name());
  reader.read("to", out.to, Name());
  reader.read("cap_mbit_s", out.what.both_ways_mbit_s, number(-kAny, kAny));
  reader.read("per_packet_ns", out.what.per_packet, Time{sim::kPicosPerNano});
  reader.read("per_waiting_ns", out.what.per_waiting, Time{sim::kPicosPerNano});
  return out;
}

}  // namespace

base::Result<Algorithm> parse_algorithm(std::string_view text) {
  const bool stock = text.starts_with("openmpi") || text.starts_with("mpich") || text == "query";
  if (stock) {
    constexpr std::uint32_t kAnyRanks = 2;
    const auto known = model::StockSchedule::make(text, kAnyRanks);
    if (!known) return known.error();
    Algorithm out(plan::Named{plan::Algorithm::kDirect, {}});
    out.stock = text;
    return out;
  }
  auto ours = plan::parse_named(text);
  if (!ours) return ours.error();
  return Algorithm(std::move(ours).value());
}

base::Result<Options> read_options(const Table& given) {
  Reader reader(given, "options");
  Options out;
#define ALM_SCENARIO_OPTION(key, Type, otherwise, rule) reader.read(#key, out.key, rule);
#include "scenario/options.def"
#undef ALM_SCENARIO_OPTION
  if (auto read = reader.finish(); !read) return read.error();
  return out;
}

base::Result<FlowOptions> read_flow_options(const Table& given) {
  Reader reader(given, "options of flow mode");
  FlowOptions out;
#define ALM_SCENARIO_OPTION(key, Type, otherwise, rule) reader.read(#key, out.key, rule);
#include "scenario/flow_options.def"
#undef ALM_SCENARIO_OPTION
  if (auto read = reader.finish(); !read) return read.error();
  return out;
}

}  // namespace alm::scenario
