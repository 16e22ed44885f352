// Bytes of the host's that travel in the uploaded part of a batch's memory as they are.
#pragma once

#include <cstdint>
#include <gpu/arena.hpp>
#include <map>
#include <span>
#include <vector>

namespace framewire::codec::cuda {

/// Borrows what it is given until write().
class StagedBytes {
 public:
  void clear();
  /// @param guard_bytes  that kernels read behind them
  [[nodiscard]] gpu::Slice<std::uint8_t> add(gpu::Arena& arena, std::span<const std::uint8_t> bytes,
                                             std::uint64_t guard_bytes = 0);
  /// The same bytes twice take room once. @param bytes  known by their address
  [[nodiscard]] gpu::Slice<std::uint8_t> add_once(gpu::Arena& arena,
                                                  std::span<const std::uint8_t> bytes);
  /// Arrays that the device reads as elements of T.
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
