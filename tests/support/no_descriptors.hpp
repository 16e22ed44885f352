// A process that can open nothing more.
#pragma once

#include <sys/resource.h>
#include <stdexcept>

namespace framewire::test {

/// As long as it lives, whatever needs another descriptor fails with EMFILE, for all threads.
class NoDescriptors {
 public:
  NoDescriptors() {
    rlimit none{};
    if (::getrlimit(RLIMIT_NOFILE, &usual_) != 0) throw std::runtime_error("getrlimit");
    none = usual_;
    none.rlim_cur = 0;
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) throw std::runtime_error("setrlimit");
  }
  ~NoDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &usual_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit usual_{};
};

}  // namespace framewire::test
