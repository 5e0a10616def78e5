#include "model/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace alm::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kNetwork = R"(format = 1
[network]
hosts = "h[0-3]"
date = 2026-11-23T12:00:00Z
version = "0.1.0"
mpi = "Open MPI 5.0.11"
time_scale = 10.0
)";

const std::string kCluster = R"([cluster]
format = 1
name = "found"
[[cluster.switch]]
name = "leaf0"
[[cluster.host]]
name = "h[0-3]"
[[cluster.link]]
from = "h[0-3]"
to = "leaf0"
rate_mbit_s = 100
)";

std::string error_of(const std::string& text) {
  const auto parsed = parse_profile(text, "net.toml");
  return parsed ? "" : parsed.error().message;
}

TEST(Profile, ReadsWhatWasMeasured) {
  const auto parsed = parse_profile(kNetwork + kCluster + R"(
[found]
leaf_groups = "undetermined"
[[parameter]]
name = "alpha"
level = "across"
carrier = "mpi"
value = 2e-5
unit = "s"
low = 1.5e-5
high = 3e-5
samples = [1.9e-5, 2.1e-5]
[[link]]
from = "h0"
to = "leaf0"
rate_mbit_s = 100.0
lower_bound = true
[[port]]
from = "leaf0"
to = "h0"
state = "measured"
buffer_packets = 43
[[port]]
from = "leaf0"
to = "h1"
state = "not overloadable"
[[sample]]
candidate = "openmpi:pairwise"
hosts = 2
bytes = 1000
times_s = [0.5, 0.25]
timeouts = 3
[[sample]]
candidate = "allemande+openmpi"
way = "udp sync-shuffle@balanced"
members = "h[1,3]"
bytes = 1000
times_s = [0.5]
[[fit]]
candidate = "openmpi:pairwise"
kind = "signature"
coefficients = [1e-5, 8e-8, 1.5, 0, 1]
sigma = 0.1
hosts_least = 4
hosts_most = 4
bytes_least = 1
bytes_most = 100000
)",
                                    "net.toml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Profile& profile = parsed.value();
  EXPECT_THAT(profile.hosts, ElementsAre("h0", "h1", "h2", "h3"));
  EXPECT_EQ(profile.mpi, "Open MPI 5.0.11");
  EXPECT_EQ(profile.time_scale, 10);
  EXPECT_TRUE(profile.links.front().lower_bound);
  EXPECT_EQ(profile.ports[0].packets->value, 43);
  EXPECT_FALSE(profile.ports[1].packets);
  EXPECT_THAT(profile.samples[0].members, ElementsAre("h0", "h1"));
  EXPECT_THAT(profile.samples[1].members, ElementsAre("h1", "h3"));
  EXPECT_EQ(profile.samples[0].timeouts, 3u);
  EXPECT_EQ(profile.fits[0].kind, FitKind::kSignature);
  EXPECT_EQ(profile.parameters.front().value.high, 3e-5);
  EXPECT_EQ(profile.parameters.front().level, Level::kAcross);
}

TEST(Profile, RefusesEmptyNames) {
  EXPECT_THAT(error_of("format = 1\n[network]\nhosts=\"a\"\nversion=\"\"\n"),
              HasSubstr("net.toml:4: key `network.version`: is empty; expected the version"));
  EXPECT_THAT(error_of(kNetwork + "[[sample]]\ncandidate=\"\"\nhosts=2\nbytes=1\ntimes_s=[1]\n"),
              HasSubstr("net.toml:9: key `sample.candidate`: is empty; expected a candidate"));
  EXPECT_THAT(error_of(kNetwork + "[[link]]\nfrom=\"\"\nto=\"b\"\nrate_mbit_s=1\n"),
              HasSubstr("net.toml:9: key `link.from`: is empty"));
  EXPECT_THAT(error_of(kNetwork + "[[port]]\nfrom=\"a\"\nto=\"\"\nstate=\"not tried\"\n"),
              HasSubstr("net.toml:10: key `port.to`: is empty"));
  EXPECT_THAT(error_of(kNetwork + "[[fit]]\ncandidate=\"\"\n"),
              HasSubstr("key `fit.candidate`: is empty"));
}

TEST(Profile, LinksAndPortsNameHostsAndSwitchesOfTheCluster) {
  const std::string port = "[[port]]\nfrom=\"leaf9\"\nto=\"h0\"\nstate=\"not tried\"\n";
  const std::string link = "[[link]]\nfrom=\"h0\"\nto=\"yy\"\nrate_mbit_s=1\n";
  EXPECT_THAT(error_of(kNetwork + kCluster + port),
              HasSubstr("net.toml:20: key `port.from`: `leaf9` is not in the cluster; expected "
                        "hosts and switches of [cluster]"));
  EXPECT_THAT(error_of(kNetwork + kCluster + link),
              HasSubstr("net.toml:21: key `link.to`: `yy` is not in the cluster"));
  EXPECT_EQ(error_of(kNetwork + port + link), "");
}

TEST(Profile, SaysWhereItIsWrong) {
  EXPECT_THAT(error_of("format = 2\n[network]\nhosts=\"a\"\nversion=\"1\"\n"),
              HasSubstr("net.toml:1: key `format`: is not supported; expected format = 1"));
  EXPECT_THAT(error_of("format = 1\n"), HasSubstr("key `network`: is missing"));
  EXPECT_THAT(error_of("format = 1\nnetwork = 3\n"), HasSubstr("expected a table [network]"));
  EXPECT_THAT(error_of(kNetwork + "rate = 1\n"),
              HasSubstr("net.toml:8: key `network.rate`: is not known"));
  EXPECT_THAT(error_of(kNetwork + "[[sample]]\ncandidate=\"openmpi\"\nbytes=1\ntimes_s=[]\n"),
              HasSubstr("key `sample.times_s`: is empty"));
  const std::string sample = "[[sample]]\ncandidate=\"openmpi\"\nbytes=1\ntimes_s=[1]\n";
  EXPECT_THAT(error_of(kNetwork + sample), HasSubstr("key `sample.hosts`: is missing"));
  EXPECT_THAT(error_of(kNetwork + sample + "hosts=5\n"),
              HasSubstr("expected an integer from 2 to 4"));
  EXPECT_THAT(error_of(kNetwork + sample + "members=\"h[0-9]\"\n"),
              HasSubstr("`h4` is not measured"));
  EXPECT_THAT(error_of(kNetwork + sample + "members=\"h0,h0\"\n"),
              HasSubstr("net.toml:12: key `sample.members`: names `h0` twice"));
  EXPECT_THAT(error_of(kNetwork + sample + "hosts=2\nmembers=\"h[0-1]\"\n"),
              HasSubstr("stands beside `hosts`"));
  EXPECT_THAT(error_of(kNetwork + "[[parameter]]\nname=\"speed\"\nvalue=1\n"),
              HasSubstr("`speed` is not known; expected one of alpha, beta"));
  EXPECT_THAT(error_of(kNetwork + "[[parameter]]\nname=\"beta\"\nvalue=1\nunit=\"s\"\n"),
              HasSubstr("expected `s/B`"));
  EXPECT_THAT(error_of(kNetwork + "[[parameter]]\nname=\"beta\"\nvalue=1\nlow=2\n"),
              HasSubstr("does not enclose 1"));
  EXPECT_THAT(error_of(kNetwork + "[[port]]\nfrom=\"a\"\nto=\"b\"\nstate=\"measured\"\n"),
              HasSubstr("key `port.buffer_packets`: is missing"));
  EXPECT_THAT(error_of(kNetwork +
                       "[[port]]\nfrom=\"a\"\nto=\"b\"\nstate=\"not tried\"\nbuffer_packets=3\n"),
              HasSubstr("stands where nothing was measured"));
  EXPECT_THAT(error_of(kNetwork + "[cluster]\nformat=1\nname=\"x\"\n"),
              HasSubstr("key `host`: is missing"));
  std::string lacks = kCluster;
  for (auto at = lacks.find("[0-3]"); at != std::string::npos; at = lacks.find("[0-3]")) {
    lacks.replace(at, 5, "[0-2]");
  }
  EXPECT_THAT(error_of(kNetwork + lacks), HasSubstr("lacks `h3`"));
  EXPECT_THAT(error_of("format = 1\n[network]\nhosts=\"a,a\"\nversion=\"1\"\n"),
              HasSubstr("names `a` twice"));
  EXPECT_THAT(error_of("a ="), HasSubstr("not valid TOML"));
}

}  // namespace
}  // namespace alm::model
