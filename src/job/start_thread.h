// How threads are started; a test has a way that fails.
#pragma once

#include <functional>
#include <thread>
#include <utility>

namespace alm::job {

// Throws std::system_error where the process may have no more threads.
using StartThread = std::thread (*)(std::function<void()> body);

inline std::thread start_thread(std::function<void()> body) { return std::thread(std::move(body)); }

}  // namespace alm::job
