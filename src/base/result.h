// Result<T>: a value or an Error that says what happened, to what, and what to do.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace alm::base {

enum class ErrorCode {
  kBadInput,     // the user can fix it: exit code 2 in the CLI
  kIo,           // the operating system refused
  kUnsupported,  // valid, but not possible here
  kTimeout,
  kPeerLost,
};

struct Error {
  ErrorCode code = ErrorCode::kBadInput;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return assert(ok()), std::get<0>(state_); }
  const T& value() const& { return assert(ok()), std::get<0>(state_); }
  T&& value() && { return assert(ok()), std::get<0>(std::move(state_)); }
  const Error& error() const { return assert(!ok()), std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// For operations without a value: nothing, or the Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return assert(error_), *error_; }

 private:
  std::optional<Error> error_;
};

inline Error bad_input(std::string message) { return {ErrorCode::kBadInput, std::move(message)}; }
inline Error io_error(std::string message) { return {ErrorCode::kIo, std::move(message)}; }

}  // namespace alm::base
