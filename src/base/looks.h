// Decides whether to look at the sockets before sleeping. To sleep and be woken costs as much as
// ten looks, so looking pays if at least half of the attempts bring news. If they do not, it is
// tried again now and then, because the load of a host changes.
#pragma once

namespace alm::base {

class Looks {
 public:
  static constexpr int kBeforeSleep = 10;

  // Before a sleep: whether to look.
  bool pay() {
    if (score_ >= kWorth) return true;
    if (++passed_over_ < kTryAgain) return false;
    passed_over_ = 0;
    return true;
  }
  // After up to kBeforeSleep looks.
  void note(bool news) { score_ += ((news ? 1.0 : 0.0) - score_) / kMemory; }

 private:
  static constexpr double kWorth = 0.5;
  static constexpr double kMemory = 16;  // looks
  static constexpr int kTryAgain = 16;

  double score_ = 1;  // the part of recent attempts that brought news
  int passed_over_ = 0;
};

}  // namespace alm::base
