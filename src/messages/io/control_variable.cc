#include "messages/io/control_variable.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <utility>
#include <vector>

namespace alm::messages {
namespace {

bool has_tools(const MpiApi& api) {
#define ALM_MPI_HAS(name) &&api.name != nullptr
  return true ALM_MPI_TOOL_FUNCTIONS(ALM_MPI_HAS);
#undef ALM_MPI_HAS
}

std::optional<int> number_of(const std::string& description, const std::string& name) {
  std::istringstream lines(description);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto end = std::find_if(line.begin(), line.end(),
                                  [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    const auto length = static_cast<std::size_t>(end - line.begin());
    const auto dash = line.find_first_not_of(' ', length);
    if (length == 0 || dash == length || dash == std::string::npos || line[dash] != '-') continue;
    if (line.compare(0, length, name) == 0) return number;
    ++number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ToolInterface> ToolInterface::open(const MpiApi& api) {
  // Open MPI takes the level that is asked for here as that of the whole process.
  int level = MPI_THREAD_SINGLE, provided = 0;
  if (!has_tools(api) || api.Query_thread(&level) != MPI_SUCCESS ||
      api.T_init_thread(level, &provided) != MPI_SUCCESS) {
    return std::nullopt;
  }
  return ToolInterface(api);
}

ToolInterface::ToolInterface(ToolInterface&& other) noexcept
    : api_(std::exchange(other.api_, nullptr)) {}

ToolInterface& ToolInterface::operator=(ToolInterface&& other) noexcept {
  std::swap(api_, other.api_);
  return *this;
}

ToolInterface::~ToolInterface() {
  if (api_ != nullptr) api_->T_finalize();
}

std::optional<ControlVariable> ControlVariable::find(const MpiApi& api, const char* name) {
  int index = 0;
  int count = 0;
  if (api.T_cvar_get_index(name, &index) != MPI_SUCCESS) return std::nullopt;
  ControlVariable found(api, index);
  if (api.T_cvar_handle_alloc(index, nullptr, &found.handle_, &count) != MPI_SUCCESS) {
    found.handle_ = MPI_T_CVAR_HANDLE_NULL;
    return std::nullopt;
  }
  if (count != 1) return std::nullopt;  // a text
  return found;
}

ControlVariable::ControlVariable(ControlVariable&& other) noexcept
    : api_(other.api_),
      index_(other.index_),
      handle_(std::exchange(other.handle_, MPI_T_CVAR_HANDLE_NULL)) {}

ControlVariable& ControlVariable::operator=(ControlVariable&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(index_, other.index_);
  std::swap(handle_, other.handle_);
  return *this;
}

ControlVariable::~ControlVariable() {
  if (handle_ != MPI_T_CVAR_HANDLE_NULL) api_->T_cvar_handle_free(&handle_);
}

// Libraries write more than an int for some types.
std::optional<int> ControlVariable::value() const {
  std::array<int, 16> room{};
  if (api_->T_cvar_read(handle_, room.data()) != MPI_SUCCESS) return std::nullopt;
  return room[0];
}

bool ControlVariable::set(int value) const {
  const std::array<int, 16> room{value};
  return api_->T_cvar_write(handle_, room.data()) == MPI_SUCCESS;
}

std::optional<int> ControlVariable::value_of(const std::string& wanted) const {
  std::vector<char> name(256);
  std::vector<char> text(8192);
  auto name_size = static_cast<int>(name.size());
  auto text_size = static_cast<int>(text.size());
  int verbosity = 0;
  int binding = 0;
  int scope = 0;
  MPI_Datatype type{};
  MPI_T_enum choices{};
  if (api_->T_cvar_get_info(index_, name.data(), &name_size, &verbosity, &type, &choices,
                            text.data(), &text_size, &binding, &scope) != MPI_SUCCESS) {
    return std::nullopt;
  }
  return number_of(text.data(), wanted);
}

}  // namespace alm::messages
