#include "emulate/control.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace alm::emulate {
namespace {

constexpr std::size_t kRequestBytesMax = 65536;

// The text up to the next separator, which is taken off with it.
std::string_view take_word(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

base::Error no_link(std::string_view text, std::uint32_t links) {
  return base::bad_input(fmt::format("link `{}`: expected a number below {}", text, links));
}

base::Result<Request> parse_link(std::string_view text, std::uint32_t links) {
  const std::string_view name = take_word(text, ' ');
  const auto link = number_of<std::uint32_t>(name);
  if (!link || *link >= links) return no_link(name, links);
  const auto rate = number_of<double>(take_word(text, ' '));
  if (!rate || !(*rate > 0 && *rate <= 1)) {
    return base::bad_input("a rate: expected a part above 0, at most 1");
  }
  const auto loss = number_of<double>(take_word(text, ' '));
  if (!loss || !(*loss >= 0 && *loss <= 1)) {
    return base::bad_input("a loss: expected a part from 0 to 1");
  }
  return Request(SetLink{*link, *rate, *loss});
}

base::Result<Request> parse_withdrawn(std::string_view text, std::uint32_t links) {
  Withdraw out{std::vector<bool>(links)};
  if (text == "-") return Request(out);
  while (!text.empty()) {
    const std::string_view name = take_word(text, ',');
    const auto link = number_of<std::uint32_t>(name);
    if (!link || *link >= links) return no_link(name, links);
    out.dead[*link] = true;
  }
  return Request(out);
}

}  // namespace

base::Result<Request> parse_request(std::string_view text, std::uint32_t links) {
  const std::string_view verb = take_word(text, ' ');
  if (verb == "link") return parse_link(text, links);
  if (verb == "withdrawn") return parse_withdrawn(text, links);
  return base::bad_input(fmt::format("`{}`: expected link or withdrawn", verb));
}

base::Result<std::unique_ptr<ControlSocket>> ControlSocket::listen(const std::string& directory) {
  std::unique_ptr<ControlSocket> out(new ControlSocket);
  const auto failed = [&](const char* what) {
    return base::io_error(fmt::format("{}/control: {}: {}", directory, what, std::strerror(errno)));
  };
  // The name of a socket is short: it is made from within its folder.
  if (::chdir(directory.c_str()) != 0) return failed("its folder cannot be entered");
  out->listening_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strcpy(name.sun_path, "control");
  constexpr int kBacklog = 8;
  if (out->listening_ < 0 ||
      ::bind(out->listening_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(out->listening_, kBacklog) != 0) {
    return failed("cannot be listened at");
  }
  (void)::chdir("/");
  return out;
}

ControlSocket::~ControlSocket() {
  for (const int socket : {listening_, asking_}) {
    if (socket >= 0) ::close(socket);
  }
}

bool ControlSocket::take(std::string& request) {
  if (asking_ < 0) asking_ = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (asking_ < 0) return false;
  std::array<char, kRequestBytesMax> text;
  const ssize_t length = ::recv(asking_, text.data(), text.size(), 0);
  if (length < 0 && errno == EAGAIN) return false;  // it has connected and said nothing yet
  if (length <= 0) {
    ::close(asking_);
    asking_ = -1;
    return false;
  }
  request.assign(text.data(), static_cast<std::size_t>(length));
  return true;
}

void ControlSocket::answer(const std::string& text) {
  (void)::send(asking_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::close(asking_);
  asking_ = -1;
}

}  // namespace alm::emulate
