#include "courier/agreed_load.h"

#include <algorithm>
#include <array>

#include "carrier/uneven_steps.h"
#include "tuning/size_class.h"

namespace alm::courier {

base::Status AgreedLoad::prepare(const char* function, Failure& failure,
                                 std::span<const std::uint64_t> send,
                                 std::span<const std::uint64_t> recv, std::uint32_t self,
                                 base::Nanos limit) {
  if (wait_ > 0) {
    --wait_;
    return {};
  }
  std::array<std::uint64_t, 2> words = {carrier::UnevenSteps::load_of(send, recv, self),
                                        static_cast<std::uint64_t>(limit)};
  if (auto agreed = failure.agree_on_most(function, words); !agreed) return agreed;
  const std::uint64_t load = std::max<std::uint64_t>(words[0], 1);
  const bool news = tuning::SizeClass(load) != tuning::SizeClass(bytes_);
  bytes_ = load;
  limit_ = static_cast<base::Nanos>(words[1]);
  without_news_ = news ? 0 : without_news_ + 1;
  wait_ = carrier::UnevenSteps::calls_between(load, without_news_);
  return {};
}

}  // namespace alm::courier
