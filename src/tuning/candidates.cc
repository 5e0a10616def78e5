#include "tuning/candidates.h"

#include <algorithm>

namespace alm::tuning {
namespace {

// The model counts packets and phases: up to so much more may be as good in truth.
constexpr double kClose = 1.5;
// Orders of messages differ by what a message costs, whatever is in it, and by how many meet at one
// receiver. Beyond this it is the partners per round that count.
constexpr std::uint64_t kManyOrdersMax = 128u << 10;
constexpr std::uint64_t kBruckMax = 1024;
// Over messages alone: where queues are short, few packets at once may count for more than their
// bytes.
constexpr std::uint64_t kBruckOverMessagesMax = 16u << 10;
constexpr std::uint64_t kCombinedByLibrariesMax = 256;
constexpr std::uint32_t kCombiningRanksMin = 8;

Way rounds_of(Sharing sharing) { return sharing == Sharing::kFixed ? kSharedWay : Way{}; }

std::optional<Way> runner_up(const CandidatesWanted& wanted) {
  if (wanted.combining.empty()) return std::nullopt;
  const std::uint32_t members = wanted.members != 0 ? wanted.members : wanted.ranks;
  const std::uint64_t bytes = wanted.member_bytes != 0 ? wanted.member_bytes : wanted.bytes;
  const auto cost = [&](std::size_t index) {
    return plan::cost_of(wanted.combining[index], bytes, wanted.packet_bytes);
  };
  const std::uint64_t direct = plan::direct_cost(members, bytes, wanted.packet_bytes);
  const std::uint64_t chosen = wanted.model ? cost(*wanted.model) : direct;
  std::optional<Way> best;
  auto least = static_cast<std::uint64_t>(kClose * static_cast<double>(chosen));
  if (wanted.model && direct <= least) {
    best = rounds_of(wanted.sharing);
    least = direct;
  }
  // What sends more bytes, as combining does, and more packets, too, is slower whichever counts.
  const auto packets = plan::direct_traffic(members, bytes, wanted.packet_bytes).packets;
  const auto saves = [&](std::size_t index) {
    return plan::traffic_of(wanted.combining[index], bytes, wanted.packet_bytes).packets < packets;
  };
  for (std::size_t i = 0; i < wanted.combining.size(); ++i) {
    if (i == wanted.model || cost(i) > least || !saves(i)) continue;
    best = phased_way(i);
    least = cost(i);
  }
  return best;
}

// In the order in which they are tried.
std::vector<plan::MessageOrder> message_orders(const CandidatesWanted& wanted) {
  using plan::MessageOrder;
  std::vector<MessageOrder> orders;
  if (wanted.ranks <= 2) return orders;  // there is one partner, and nothing to order
  const bool all = wanted.over_messages.has_value();
  const bool tiny = wanted.bytes <= kBruckMax;
  if (tiny) orders.push_back(MessageOrder::kBruck);
  orders.push_back(MessageOrder::kPairwise);
  if (all) orders.push_back(MessageOrder::kExchange);
  if (wanted.bytes <= kManyOrdersMax) {
    orders.push_back(MessageOrder::kFew);
    if (all) orders.push_back(MessageOrder::kMany);
    orders.push_back(MessageOrder::kAll);
  }
  if (all && !tiny && wanted.bytes <= kBruckOverMessagesMax) {
    orders.push_back(MessageOrder::kBruck);
  }
  std::erase_if(orders,
                [&](MessageOrder order) { return !plan::is_of_its_own(order, wanted.ranks); });
  return orders;
}

// Whether the library may be told to send in this order.
bool library_has(plan::MessageOrder order, const CandidatesWanted& wanted) {
  using plan::MessageOrder;
  const AlgorithmSet& library = wanted.library;
  // What MPICH calls pairwise is by exclusive or where it can be. It alone has `scattered`.
  const bool mpich = library.has(LibraryAlgorithm::kScattered);
  const bool in_pairs = mpich && plan::is_of_its_own(MessageOrder::kExchange, wanted.ranks);
  switch (order) {
    case MessageOrder::kPairwise:
      return library.has(LibraryAlgorithm::kPairwise) && !in_pairs;
    case MessageOrder::kExchange:
      return library.has(LibraryAlgorithm::kPairwise) && in_pairs;
    case MessageOrder::kBruck:
      return library.has(LibraryAlgorithm::kBruck);
    case MessageOrder::kMany:
      return mpich;
    case MessageOrder::kAll:
      return library.has(LibraryAlgorithm::kLinear) ||
             (mpich && !plan::is_of_its_own(MessageOrder::kMany, wanted.ranks));
    case MessageOrder::kFew:
      break;
  }
  return false;
}

// In the order in which they are tried.
std::vector<Way> library_ways(const CandidatesWanted& wanted) {
  std::vector<Way> ways;
  if (wanted.ranks <= 2) return ways;
  const bool tiny = wanted.bytes <= kBruckMax;
  std::vector<LibraryAlgorithm> order = {LibraryAlgorithm::kPairwise, LibraryAlgorithm::kLinearSync,
                                         LibraryAlgorithm::kScattered, LibraryAlgorithm::kLinear};
  if (wanted.bytes <= kBruckOverMessagesMax) {
    order.insert(tiny ? order.begin() : order.end(), LibraryAlgorithm::kBruck);
  }
  for (const LibraryAlgorithm algorithm : order) {
    if (wanted.library.has(algorithm)) ways.push_back(library_way(algorithm));
  }
  return ways;
}

// All over UDP that may be as fast as what the model takes, by the profile, the best first; where
// it does not speak of that, the one by packets.
std::vector<Way> others_over_udp(const CandidatesWanted& wanted, Way model) {
  std::vector<Way> others;
  const Foreseen best = wanted.foreseen ? wanted.foreseen(model) : Foreseen{};
  if (!best.known()) {
    if (const auto second = runner_up(wanted)) others.push_back(*second);
    return others;
  }
  const auto consider = [&](Way way) {
    const Foreseen one = wanted.foreseen(way);
    if (way != model && one.comparable(best) && one.overlaps(best)) others.push_back(way);
  };
  if (!wanted.combining.empty()) consider(rounds_of(wanted.sharing));
  for (std::size_t i = 0; i < wanted.combining.size(); ++i) consider(phased_way(i));
  return others;
}

// The others keep their places.
void order_those_foreseen(std::vector<Way>& ways, const CandidatesWanted& wanted) {
  std::vector<std::size_t> places;
  std::vector<Way> known;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!wanted.foreseen(ways[i]).known()) continue;
    places.push_back(i);
    known.push_back(ways[i]);
  }
  std::stable_sort(known.begin(), known.end(),
                   [&](Way a, Way b) { return wanted.foreseen(a).time < wanted.foreseen(b).time; });
  for (std::size_t i = 0; i < places.size(); ++i) ways[places[i]] = known[i];
  const Transport rounds = wanted.over_messages ? Transport::kMpi : Transport::kUdp;
  const auto first = std::find_if(ways.begin(), ways.end(), [&](Way way) {
    return !opens_connections(way, wanted.bytes, rounds);
  });
  if (first != ways.end()) std::rotate(ways.begin(), first, first + 1);
}

}  // namespace

Transport transport_of(Way way, Transport rounds) {
  switch (way.kind) {
    case Way::Kind::kPhased:
    case Way::Kind::kShared:
      return Transport::kUdp;
    case Way::Kind::kRounds:
      return rounds;
    case Way::Kind::kNative:
    case Way::Kind::kMessages:
      break;
  }
  return Transport::kMpi;
}

bool combines(Way way) {
  return way.kind == Way::Kind::kPhased || way == kNativeWay ||
         way == library_way(LibraryAlgorithm::kBruck) ||
         way == message_way(plan::MessageOrder::kBruck);
}

Way first_over_messages(std::uint32_t ranks, std::uint64_t bytes) {
  const bool combines = ranks >= kCombiningRanksMin && bytes <= kCombinedByLibrariesMax;
  return combines ? message_way(plan::MessageOrder::kBruck) : Way{};
}

std::vector<Way> candidates(const CandidatesWanted& wanted) {
  const Way model = wanted.model ? phased_way(*wanted.model) : rounds_of(wanted.sharing);
  std::vector<Way> ways = {wanted.over_messages.value_or(model), kNativeWay};
  if (ways.front() != model) ways.push_back(model);
  if (wanted.sharing == Sharing::kTried) ways.push_back(kSharedWay);
  for (const Way other : others_over_udp(wanted, model)) ways.push_back(other);
  for (const Way told : library_ways(wanted)) ways.push_back(told);
  for (const plan::MessageOrder order : message_orders(wanted)) {
    if (message_way(order) == ways.front() || library_has(order, wanted)) continue;
    ways.push_back(message_way(order));
  }
  if (wanted.foreseen) order_those_foreseen(ways, wanted);
  return ways;
}

bool opens_connections(Way way, std::uint64_t bytes, Transport rounds) {
  const bool messages = way.kind == Way::Kind::kMessages || is_told(way) ||
                        (way.kind == Way::Kind::kRounds && rounds == Transport::kMpi);
  return messages && bytes <= kCombinedByLibrariesMax && !combines(way);
}

std::string_view key_of(plan::MessageOrder order) {
  switch (order) {
    case plan::MessageOrder::kPairwise:
      return "pairwise";
    case plan::MessageOrder::kFew:
      return "few";
    case plan::MessageOrder::kAll:
      return "all";
    case plan::MessageOrder::kExchange:
      return "exchange";
    case plan::MessageOrder::kMany:
      return "many";
    case plan::MessageOrder::kBruck:
      break;
  }
  return "bruck";
}

}  // namespace alm::tuning
