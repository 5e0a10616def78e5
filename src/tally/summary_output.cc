#include "tally/summary_output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

#include "tally/summary.h"

namespace alm::tally {
namespace {

// The file of a job that has just begun is soon out of date.
constexpr base::Nanos kRefreshFirst = base::kSecond;
constexpr base::Nanos kRefreshEvery = 10 * base::kSecond;

// Signals that end a process. Handlers that others have for the first of them stay in place, since
// the program may go on after these; after the others nothing goes on.
struct Deadly {
  int number;
  const char* end;
  bool goes_on;
};
constexpr std::array<Deadly, 9> kDeadly{{{SIGTERM, "ended by SIGTERM", true},
                                         {SIGINT, "ended by SIGINT", true},
                                         {SIGHUP, "ended by SIGHUP", true},
                                         {SIGXCPU, "ended by SIGXCPU", true},
                                         {SIGABRT, "ended by SIGABRT", false},
                                         {SIGSEGV, "ended by SIGSEGV", false},
                                         {SIGBUS, "ended by SIGBUS", false},
                                         {SIGFPE, "ended by SIGFPE", false},
                                         {SIGILL, "ended by SIGILL", false}}};

// Signal handlers reach nothing else.
std::atomic<SummaryOutput*> at_signals{nullptr};
std::array<struct sigaction, kDeadly.size()> actions;  // before ours
std::array<char, kSummaryBytesMax> text;

base::Nanos now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * base::kSecond + time.tv_nsec;
}

bool write_all(int file, const char* at, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(file, at, size);
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

// Then what had been in place before: it ends the process.
void handle(int number, siginfo_t* info, void*) {
  for (std::size_t i = 0; i < kDeadly.size(); ++i) {
    if (kDeadly[i].number != number) continue;
    if (auto* output = at_signals.exchange(nullptr)) output->say(kDeadly[i].end);
    sigaction(number, &actions[i], nullptr);
    // An instruction that has failed fails again.
    const bool again = !kDeadly[i].goes_on && info->si_code > 0;
    if (!again) raise(number);
  }
}

bool is_handled_by(const struct sigaction& action, void (*handler)(int, siginfo_t*, void*)) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handler;
}

void install() {
  struct sigaction ours {};
  ours.sa_sigaction = &handle;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  for (std::size_t i = 0; i < kDeadly.size(); ++i) {
    if (sigaction(kDeadly[i].number, nullptr, &actions[i]) != 0) continue;
    const bool plain = (actions[i].sa_flags & SA_SIGINFO) == 0;
    if (plain && actions[i].sa_handler == SIG_IGN) continue;
    const bool ends = plain && actions[i].sa_handler == SIG_DFL;
    if (ends || !kDeadly[i].goes_on) sigaction(kDeadly[i].number, &ours, nullptr);
  }
}

void uninstall() {
  for (std::size_t i = 0; i < kDeadly.size(); ++i) {
    struct sigaction present {};
    if (sigaction(kDeadly[i].number, nullptr, &present) == 0 && is_handled_by(present, &handle)) {
      sigaction(kDeadly[i].number, &actions[i], nullptr);
    }
  }
}

}  // namespace

SummaryOutput::~SummaryOutput() { disarm(); }

void SummaryOutput::begin(std::string path, std::uint32_t rank, std::uint32_t ranks,
                          bool at_signals_too) {
  path_ = std::move(path);
  part_ = path_ + ".part";
  rank_ = rank;
  ranks_ = ranks;
  due_ = tally_.begun() + kRefreshFirst;
  process_ = getpid();
  begun_ = true;
  SummaryOutput* none = nullptr;
  if (!at_signals_too || !at_signals.compare_exchange_strong(none, this)) return;
  armed_ = true;
  install();
}

void SummaryOutput::disarm() {
  if (!std::exchange(armed_, false)) return;
  at_signals = nullptr;
  uninstall();
}

// A child by fork() has all of it, and its end is none of the rank's.
bool SummaryOutput::is_ours() const { return begun_ && getpid() == process_; }

void SummaryOutput::say(const char* end) {
  if (!is_ours() || said_.exchange(true)) return;
  write(end);
}

void SummaryOutput::refresh(base::Nanos at) {
  base::Nanos due = due_.load(std::memory_order_relaxed);
  if (path_.empty() || at < due || !is_ours()) return;
  const base::Nanos next = at + std::min(at - tally_.begun(), kRefreshEvery);
  if (due_.compare_exchange_strong(due, next)) write("so far");
}

// Nothing here may allocate or lock: a signal handler comes here.
void SummaryOutput::write(const char* end) {
  const std::size_t size = write_summary(tally_, {rank_, ranks_, end, now()}, text);
  if (path_.empty()) {
    static_cast<void>(write_all(STDERR_FILENO, text.data(), size));
    return;
  }
  const int file = open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool written = file >= 0 && write_all(file, text.data(), size);
  if (file >= 0) close(file);
  if (!written || std::rename(part_.c_str(), path_.c_str()) != 0) failed_ = true;
}

}  // namespace alm::tally
