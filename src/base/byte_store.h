// Memory that is kept between calls and not initialised.
#pragma once

#include <cstddef>
#include <memory>

namespace alm::base {

class ByteStore {
 public:
  // Returns at least so many bytes. Their contents are lost where the memory has to grow.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > capacity_) {
      release();
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      capacity_ = bytes;
    }
    return bytes_.get();
  }

  void release() {
    bytes_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

}  // namespace alm::base
