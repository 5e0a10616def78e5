// allemande-emulate: the network of a lab. Started by the lab alone (lab/inside/init.py).
#include <fcntl.h>
#include <fmt/core.h>
#include <getopt.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "emulate/emulator.h"

namespace {

using alm::base::Result;
using alm::emulate::Emulator;

struct Arguments {
  alm::emulate::Settings settings;
  int ready = -1;
  std::string group;
};

constexpr int kFailed = 1, kBadInput = 2;

Result<Arguments> parse(int argc, char** argv) {
  static const option options[] = {{"cluster", required_argument, nullptr, 'c'},
                                   {"directory", required_argument, nullptr, 'd'},
                                   {"routing", required_argument, nullptr, 'r'},
                                   {"routers", no_argument, nullptr, 'R'},
                                   {"ready", required_argument, nullptr, 'f'},
                                   {"output-frames", required_argument, nullptr, 'o'},
                                   {"hosts", required_argument, nullptr, 'h'},
                                   {"group", required_argument, nullptr, 'g'},
                                   {nullptr, 0, nullptr, 0}};
  Arguments out;
  for (int found; (found = ::getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    const std::string_view text = optarg == nullptr ? "" : optarg;
    switch (found) {
      case 'c':
        out.settings.cluster_file = text;
        break;
      case 'd':
        out.settings.directory = text;
        break;
      case 'r': {
        auto rule = alm::routing::parse_rule(text);
        if (!rule) return rule.error();
        out.settings.rule = rule.value();
        break;
      }
      case 'R':
        out.settings.routers = true;
        break;
      case 'f':
        std::from_chars(text.data(), text.data() + text.size(), out.ready);
        break;
      case 'o':
        std::from_chars(text.data(), text.data() + text.size(), out.settings.output_frames);
        break;
      case 'h':
        for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
          int process = 0;
          at = std::from_chars(at, text.data() + text.size(), process).ptr;
          out.settings.processes.push_back(process);
        }
        break;
      case 'g':
        out.group = text;
        break;
      default:
        return alm::base::bad_input("an option is unknown; the lab starts this program itself");
    }
  }
  if (out.settings.cluster_file.empty() || out.settings.directory.empty()) {
    return alm::base::bad_input("expected --cluster and --directory");
  }
  return out;
}

// Its own processor when it needs one: in real time where it may. Else before all others as far as
// that goes: nice -20, short turns (Linux 6.12), exact timers.
bool take_priority(const std::string& group) {
  ::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  const sched_param first{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_FIFO, &first) == 0) return true;
  if (!group.empty()) {
    const std::string path = group + "/cgroup.procs";
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
      if (::write(file, "0", 1) < 0) fmt::print(stderr, "{}: {}\n", path, std::strerror(errno));
      ::close(file);
    }
  }
  struct {  // sched_attr of sched_setattr(2)
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{48, SCHED_OTHER, 0, -20, 0, 100'000, 0, 0};
  if (::syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) {
    attributes.nice = ::getpriority(PRIO_PROCESS, 0);
    (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
  return false;
}

void tell(int ready, const std::string& text) {
  const std::string line = text + "\n";
  if (ready >= 0) {
    (void)!::write(ready, line.data(), line.size());
    ::close(ready);
  } else if (!text.empty()) {
    fmt::print(stderr, "allemande-emulate: {}", line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto arguments = parse(argc, argv);
  if (!arguments) {
    tell(-1, arguments.error().message);
    return kBadInput;
  }
  const Arguments& chosen = arguments.value();
  auto emulator = Emulator::make(chosen.settings);
  if (!emulator) {
    tell(chosen.ready, emulator.error().message);
    return emulator.error().code == alm::base::ErrorCode::kBadInput ? kBadInput : kFailed;
  }
  emulator.value()->set_realtime(take_priority(chosen.group));
  tell(chosen.ready, "");
  emulator.value()->run();
}
