#include "meeting/hop_questions.h"

#include <algorithm>
#include <numeric>

namespace alm::meeting {

HopQuestions::HopQuestions(std::span<const io::HopQuestion> questions, base::Nanos patience,
                           RouteSearch* search)
    : questions_(questions),
      search_(search),
      patience_(patience),
      queue_(questions.size()),
      tries_(questions.size(), 0),
      routers_(questions.size()) {
  std::iota(queue_.rbegin(), queue_.rend(), 0);
}

void HopQuestions::begin(base::Nanos now) {
  end_ = now + kPatiences * patience_;
  silent_ = now + kTries * patience_;
}

void HopQuestions::expire(base::Nanos now) {
  while (!asked_.empty() && asked_.front().until <= now) {
    const std::size_t question = asked_.front().question;
    asked_.erase(asked_.begin());
    if (tries_[question] < kTries) queue_.push_back(question);
  }
}

std::optional<io::HopQuestion> HopQuestions::next(base::Nanos now) {
  expire(now);
  while (search_ != nullptr && !queue_.empty() &&
         search_->has_enough(questions_[queue_.back()].host)) {
    queue_.pop_back();
  }
  if (queue_.empty() || asked_.size() >= kUnderWay) return std::nullopt;
  const std::size_t question = queue_.back();
  queue_.pop_back();
  ++tries_[question];
  asked_.push_back({question, now + patience_});
  return questions_[question];
}

void HopQuestions::answered(const io::HopAnswer& answer) {
  const auto found = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& asked) {
    const io::HopQuestion& question = questions_[asked.question];
    return question.socket == answer.socket && question.to == answer.to;
  });
  if (found == asked_.end()) return;
  heard_ = true;
  routers_[found->question] = answer.router;
  if (search_ != nullptr && answer.router.length > 0) {
    search_->answered(questions_[found->question].host, answer.router);
  }
  asked_.erase(found);
}

// Where the last answers stay out, nothing is left to wait for.
base::Nanos HopQuestions::deadline() const {
  if (asked_.empty() && queue_.empty()) return 0;
  const base::Nanos end = heard_ ? end_ : silent_;
  return asked_.empty() ? end : std::min(end, asked_.front().until);
}

}  // namespace alm::meeting
