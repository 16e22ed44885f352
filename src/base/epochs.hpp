// Counts what is under way, for those who wait for what began before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace framewire::base {

/// Counts what has begun and not ended, by the epoch in which it began. An epoch ends once another
/// follows it and all has ended that began in it and before. Guarded by its owner's lock.
class Epochs {
 public:
  using Epoch = std::uint64_t;

  /// @return the current epoch, in which `count` more begin
  Epoch begin(std::size_t count) noexcept;
  /// `count` that began in `epoch` end.
  /// @return whether an epoch has ended, so that whoever waits for one must look again
  bool end(Epoch epoch, std::size_t count) noexcept;
  /// Whatever begins from here on begins in another epoch than what is under way.
  /// @return that epoch
  [[nodiscard]] Epoch next();
  [[nodiscard]] bool all_ended_before(Epoch epoch) const noexcept { return first_ >= epoch; }

 private:
  Epoch first_ = 0;  ///< the earliest that has not ended
  /// What is under way of each epoch from first_ on; the last one is the current epoch.
  std::deque<std::size_t> under_way_ = std::deque<std::size_t>(1);
};

}  // namespace framewire::base
