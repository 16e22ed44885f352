// Names of threads, as top -H, ps -L and debuggers show them.
#pragma once

#include <pthread.h>

namespace framewire::base {

/// Names the calling thread. @param name  at most 15 bytes, else it keeps its old one
inline void name_thread(const char* name) noexcept {
  (void)::pthread_setname_np(::pthread_self(), name);
}

}  // namespace framewire::base
