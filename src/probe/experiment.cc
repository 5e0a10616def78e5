#include "probe/experiment.h"

#include <fmt/core.h>

#include "probe/header.h"

namespace alm::probe {
namespace {

constexpr std::uint32_t kDatagramMax = 65'507;

base::Status check(const Flow& flow, std::size_t index, std::uint32_t ranks) {
  const auto refuse = [&](const std::string& what) {
    return base::bad_input(fmt::format("flow {} of an experiment: {}", index, what));
  };
  if (flow.from >= ranks || flow.to >= ranks || flow.from == flow.to) {
    return refuse(fmt::format("from rank {} to rank {}; expected two of {} ranks", flow.from,
                              flow.to, ranks));
  }
  if (flow.bytes < kHeaderBytes || flow.bytes > kDatagramMax) {
    return refuse(fmt::format("datagrams of {} bytes; expected {} to {}", flow.bytes, kHeaderBytes,
                              kDatagramMax));
  }
  if (flow.packets > kPacketsMax) {
    return refuse(fmt::format("{} packets; expected at most {}", flow.packets, kPacketsMax));
  }
  if (flow.train == 0) return refuse("trains of no packets; expected one or more");
  if (flow.start < 0 || flow.interval < 0) return refuse("a time below 0");
  if (flow.kind == FlowKind::kEcho && flow.stamped) return refuse("an echo is not stamped");
  if (flow.kind == FlowKind::kEcho && flow.interval == 0) {
    return refuse("an echo without the time after which it is given up");
  }
  return {};
}

}  // namespace

base::Status check(const Experiment& experiment, std::uint32_t ranks) {
  if (ranks > kRanksMax) {
    return base::bad_input(fmt::format("{} ranks; expected at most {}", ranks, kRanksMax));
  }
  if (experiment.duration <= 0 || experiment.duration > kDurationMax) {
    return base::bad_input(fmt::format("an experiment of {} ns; expected above 0, at most {}",
                                       experiment.duration, kDurationMax));
  }
  for (std::size_t i = 0; i < experiment.flows.size(); ++i) {
    if (auto status = check(experiment.flows[i], i, ranks); !status) return status;
  }
  for (const Watch& watch : experiment.watches) {
    if (watch.rank >= ranks || watch.interval <= 0 || watch.start < 0) {
      return base::bad_input(
          fmt::format("a watch of rank {} every {} ns; expected one of {} ranks and a time above 0",
                      watch.rank, watch.interval, ranks));
    }
  }
  return {};
}

}  // namespace alm::probe
