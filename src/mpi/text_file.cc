#include "mpi/text_file.h"

#include <filesystem>
#include <fstream>

namespace alm::mpi {

base::Result<std::string> read_text(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) {
    return base::bad_input("cannot read " + path);
  }
  std::string text(bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace alm::mpi
