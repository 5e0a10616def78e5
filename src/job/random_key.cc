#include "job/random_key.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace alm::job {

ssize_t system_random_bytes(void* out, std::size_t bytes, unsigned flags) {
  return getrandom(out, bytes, flags);
}

base::Result<transport::Key> random_key(RandomBytes source) {
  transport::Key key{};
  ssize_t got = 0;
  do {
    got = source(key.data(), sizeof key, 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof key)) return key;
  return base::io_error(std::string("no random bytes for a key: ") +
                        (got < 0 ? std::strerror(errno) : "getrandom gave too few"));
}

}  // namespace alm::job
