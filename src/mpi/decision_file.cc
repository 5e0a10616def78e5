#include "mpi/decision_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "mpi/text_file.h"

namespace alm::mpi {

base::Result<std::vector<tuning::Decision>> read_decisions(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::vector<tuning::Decision>{};
  const auto text = read_text(path, tuning::kDecisionFileBytesMax);
  if (!text) return text.error();
  return tuning::parse_decisions(text.value(), path);
}

base::Status write_decisions(const std::string& path, std::span<const tuning::Decision> all) {
  const std::string text = tuning::format_decisions(all);
  const std::string part = fmt::format("{}.{}", path, getpid());
  std::FILE* file = std::fopen(part.c_str(), "w");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (written && closed && std::rename(part.c_str(), path.c_str()) == 0) return {};
  const int why = errno;
  if (file != nullptr) std::remove(part.c_str());
  return base::io_error(
      fmt::format("ALLEMANDE_DECISIONS: cannot write {}: {}", path, std::strerror(why)));
}

}  // namespace alm::mpi
