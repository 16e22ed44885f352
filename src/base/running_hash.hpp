// The XXH3-64 of bytes that come in pieces.
#pragma once

#include <base/xxh3.hpp>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace framewire::base {

/// The hash of all bytes so far. Its constructor throws std::bad_alloc, as what allocates.
class RunningHash {
 public:
  RunningHash() { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::uint8_t> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }
  void copy_to(RunningHash& other) const { XXH3_copyState(other.state_.get(), state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  static XXH3_state_t* make() {
    XXH3_state_t* state = XXH3_createState();
    if (state == nullptr) throw std::bad_alloc();
    return state;
  }
  std::unique_ptr<XXH3_state_t, Free> state_{make()};
};

}  // namespace framewire::base
