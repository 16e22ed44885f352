// Bytes of the host that are uploaded with a batch as they are.
#pragma once

#include <cstdint>
#include <gpu/arena.hpp>
#include <map>
#include <span>
#include <vector>

namespace framewire::codec::cuda {

/// Collects such bytes; borrows them until write().
class StagedBytes {
 public:
  void clear();
  /// @param guard_bytes  bytes behind them that kernels may read
  [[nodiscard]] gpu::Slice<std::uint8_t> add(gpu::Arena& arena, std::span<const std::uint8_t> bytes,
                                             std::uint64_t guard_bytes = 0);
  /// As add(), but bytes that were added before, at the same address, are not uploaded twice.
  [[nodiscard]] gpu::Slice<std::uint8_t> add_once(gpu::Arena& arena,
                                                  std::span<const std::uint8_t> bytes);
  /// Adds an array that the device reads as elements of T.
  template <typename T, typename Value>
  [[nodiscard]] gpu::Slice<const T> add_array(gpu::Arena& arena, const std::vector<Value>& values) {
    return gpu::cast<const T>(add(arena, bytes_of(values)));
  }
  template <typename T, typename Value>
  [[nodiscard]] gpu::Slice<const T> add_array_once(gpu::Arena& arena,
                                                   const std::vector<Value>& values) {
    return gpu::cast<const T>(add_once(arena, bytes_of(values)));
  }

  /// @param past_caches  for large batches, which the device reads later
  void write(const gpu::Memory& host, bool past_caches) const;

 private:
  struct Copy {
    gpu::Slice<std::uint8_t> to;
    std::span<const std::uint8_t> bytes;
  };
  template <typename Value>
  static std::span<const std::uint8_t> bytes_of(const std::vector<Value>& values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(Value)};
  }

  std::vector<Copy> copies_;
  std::map<const std::uint8_t*, gpu::Slice<std::uint8_t>> once_;
};

}  // namespace framewire::codec::cuda
