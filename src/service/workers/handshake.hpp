// What a service and a worker process say to each other before the first picture.
#pragma once

#include <sys/types.h>
#include <array>
#include <cstdint>
#include <framewire/engine.hpp>
#include <ipc/greeting.hpp>
#include <span>
#include <type_traits>

namespace framewire::service::workers {

/// The worker's end of the socket.
inline constexpr int kWorkerDescriptor = 3;
inline constexpr std::size_t kMaxDevices = 64;

/// From the service, once. Both ends are the same file on disk, hence no versions.
struct StartOrder {
  static constexpr std::array<char, 16> kMagic{"framewire work"};
  std::array<char, 16> magic = kMagic;
  pid_t service = 0;  ///< the process that the worker must not outlive
  std::uint32_t codec = 0;
  std::uint32_t threads = 0;
  std::uint32_t slots = 0;
  std::uint64_t queue = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t gpu_memory_bytes = 0;
  std::uint64_t warm_bytes = 0;
  std::uint64_t memory_bytes = 0;  ///< bound on the worker's own memory; 0: none
  std::uint32_t sandbox = 1;
  std::uint32_t device_count = 0;
  std::array<std::int32_t, kMaxDevices> devices{};
};

/// From the worker, once, with the file of the shared memory where it is ready.
struct StartAnswer {
  ipc::Word word;  ///< why it cannot work, if it cannot
  std::uint32_t device_count = 0;
  std::array<std::int32_t, kMaxDevices> devices{};
};

static_assert(std::is_trivially_copyable_v<StartOrder> &&
              std::is_trivially_copyable_v<StartAnswer>);

template <typename T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}
template <typename T>
[[nodiscard]] std::span<std::byte> writable_bytes_of(T& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

}  // namespace framewire::service::workers
