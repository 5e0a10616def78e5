#include <arpa/inet.h>
#include <gmock/gmock.h>

#include "job/fake_mpi_test_ops.h"
#include "job/job.h"
#include "topology/cluster.h"

namespace alm::job {
namespace {

constexpr std::uint32_t kHosts = 3;

InterfaceAddress ip(const std::string& text) {
  InterfaceAddress address{.family = AF_INET, .prefix_bits = 24};
  EXPECT_EQ(inet_pton(AF_INET, text.c_str(), address.bytes.data()), 1);
  return address;
}

// Hosts with addresses in two subnets each. `named`: what the cluster file says of the first one.
std::string file(const std::string& named) {
  return R"(
format = 1
name = "net"
[[switch]]
name = "s"
[[host]]
name = "h0"
)" + named +
         R"(
[[host]]
name = "h[1-2]"
[[link]]
from = "h[0-2]"
to = "s"
rate_mbit_s = 100
)";
}

// How often each rank has gathered while it chose a network.
std::vector<int> gatherings(const std::string& named) {
  FakeJob fake(kHosts);
  std::vector<int> counts(kHosts);
  run_ranks(fake, [&](FakeMpiOps& ops, std::uint32_t rank) {
    Job job(ops);
    job.rank = rank;
    job.host = "h" + std::to_string(rank);
    job.options = base::load_options({}).value();
    job.options.time_scale = 0.1;
    job.cluster = topology::parse_cluster(file(named), "net.toml").value();
    job.records.resize(kHosts);
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      JobRecord& record = job.records[host];
      set_host(record.host, "h" + std::to_string(host));
      const std::string end = std::to_string(host + 1);
      record.addresses = {ip("198.18.200." + end), ip("198.18.201." + end)};
      record.address_count = 2;
    }
    job.choose_network(FakeJob::kWorld);
    counts[rank] = fake.calls(rank)["allgather"];
  });
  EXPECT_FALSE(fake.hung());
  return counts;
}

TEST(ChooseNetwork, NoHostLooksForOneAlone) {
  EXPECT_THAT(gatherings(R"(interface = "eth1")"), testing::Each(0));
  EXPECT_THAT(gatherings(R"(address = "198.18.200.1")"), testing::Each(0));
}

TEST(ChooseNetwork, AllLookWhereTheFileNamesNothing) {
  EXPECT_THAT(gatherings(""), testing::Each(testing::Gt(0)));
}

}  // namespace
}  // namespace alm::job
