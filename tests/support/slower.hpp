// How much more a sanitizer's build may take than what a test allows of time and memory.
#pragma once

namespace framewire::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlower = 20;
inline constexpr int kMoreMemory = 8;
#else
inline constexpr int kSlower = 1;
inline constexpr int kMoreMemory = 1;
#endif

}  // namespace framewire::test
