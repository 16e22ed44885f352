// Memory of the caller's for a finished stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <span>
#include <utility>

namespace framewire {

/// Where an engine writes one finished stream: to a span, to memory that a function gives once the
/// size is known, or to neither; the answer then carries a vector.
///
/// The memory is the caller's, host, writable, and stays until the request has been answered. It
/// may lie anywhere, registered or not, but holds no input of a request under way. An engine writes
/// only finished streams, and once: a request that ends in an error writes nothing. Copies of a
/// sink name the same memory. Thread safety: const members may be called from any thread; an engine
/// calls them from one of its own.
class FRAMEWIRE_API OutputSink {
 public:
  /// Gives room for a stream of `bytes` bytes. Called once a request, from one of the engine's
  /// threads: be quick, never wait for the engine. What it throws, and less room than asked for,
  /// become the request's error.
  using Allocate = std::function<std::span<std::uint8_t>(std::size_t bytes)>;

  /// A sink without memory: the answer carries a vector.
  OutputSink() noexcept = default;
  /// @param memory  host, writable; a stream is written to its beginning
  explicit OutputSink(std::span<std::uint8_t> memory) noexcept : memory_(memory), given_(true) {}
  /// @param allocate  empty: a sink without memory
  explicit OutputSink(Allocate allocate) noexcept : allocate_(std::move(allocate)) {}

  /// Whether the stream is written to the caller's memory.
  [[nodiscard]] bool wanted() const noexcept { return given_ || allocate_ != nullptr; }

  /// Memory for a stream; only of a sink that is wanted(). Does not block, unless the function
  /// does.
  /// @param bytes  its size
  /// @return host, exactly `bytes`; too_large, which says how many bytes are needed, where the
  ///         span or what the function gave has fewer; busy where the function threw
  ///         std::bad_alloc; invalid_input, with its message, where it threw anything else
  [[nodiscard]] Result<std::span<std::uint8_t>> room(std::size_t bytes) const;

 private:
  std::span<std::uint8_t> memory_;
  Allocate allocate_;
  bool given_ = false;
};

}  // namespace framewire
