#include "messages/flow.h"

#include <gtest/gtest.h>

namespace alm::messages {
namespace {

TEST(MessageFlow, KeepsDataAndWhatComesAgainstItWithinTheWindow) {
  struct FlowCase {
    std::uint32_t window, segments, chunks;
  };
  for (const FlowCase& one :
       {FlowCase{1, 1, 1}, FlowCase{2, 1, 2}, FlowCase{3, 2, 2}, FlowCase{4, 2, 2},
        FlowCase{5, 3, 2}, FlowCase{6, 3, 2}, FlowCase{9, 3, 3}, FlowCase{43, 3, 14}}) {
    const auto flow = MessageFlow::of_packets(one.window, 1500, 4);
    EXPECT_EQ(flow.window_chunks, one.chunks) << one.window;
    EXPECT_EQ(flow.chunk_bytes, one.segments * 1448 - 64) << one.window;
    EXPECT_EQ(flow.outstanding, std::max(4u, one.chunks)) << one.window;
    EXPECT_LE(one.segments * one.chunks, one.window + 1);
  }
}

TEST(MessageFlow, IsPatientWhereLinksAreSlow) {
  auto flow = MessageFlow::of_packets(5, 1500, 4);
  EXPECT_EQ(flow.patience, 0);
  flow.wait_for_link(0, 1);  // not known
  EXPECT_EQ(flow.patience, 0);
  flow.wait_for_link(10, 1);
  EXPECT_EQ(flow.patience, 16 * 8 * 4280 * 100);  // 3.4 ms for a chunk of 4,280 bytes
  flow.wait_for_link(10, 4);
  EXPECT_EQ(flow.patience, 4 * 16 * 8 * 4280 * 100);
}

}  // namespace
}  // namespace alm::messages
