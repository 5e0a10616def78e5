// The profile of the network: rank 0 reads it and tells the others, so that all foresee alike.
#include <fmt/format.h>

#include "base/text_file.h"
#include "job/safe_collectives.h"
#include "session/profile_file.h"
#include "session/session.h"

namespace alm::session {

void Session::load_profile() {
  if (job_.records.front().has_profile == 0) return;
  const std::string& path = job_.options.profile;
  std::string mine;
  if (job_.rank == 0) {
    auto text = base::read_text(path, model::kProfileBytesMax, "a profile");
    auto parsed = text ? model::parse_profile(text.value(), path) : text.error();
    std::string why = parsed ? other_network(parsed.value(), job_) : parsed.error().message;
    if (parsed && !why.empty()) why = fmt::format("{} is of another network: {}", path, why);
    if (why.empty()) {
      mine = std::move(text).value();
    } else {
      job_.log.warning(fmt::format("ALLEMANDE_PROFILE: {}. It is not used.", why));
    }
  }
  job::SafeCollectives collectives(mpi_, mpi_.world());
  const std::string text = collectives.tell(job_.rank == 0, mine);
  if (text.empty()) return;
  auto parsed = model::parse_profile(text, "the profile");
  if (!parsed) return;
  job_.profile = std::move(parsed).value();
  job_.shape.profile = fmt::format("{:016x}", job::configuration_hash(text, {}));
}

}  // namespace alm::session
