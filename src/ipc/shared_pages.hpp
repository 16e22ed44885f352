// The memory that a server and one local client share, with its parts.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstring>
#include <framewire/status.hpp>
#include <ipc/entries.hpp>
#include <ipc/layout.hpp>
#include <ipc/ring.hpp>
#include <span>
#include <transport/shared/sealed_memory.hpp>

namespace framewire::ipc {

/// Owns one end's mapping. Views of it must end before it does.
class SharedPages {
 public:
  /// Made by the server; all pages are touched. @return invalid_input as Layout::make(); busy
  [[nodiscard]] static Result<SharedPages> make(const AreaSizes& sizes);
  /// Mapped by the client. @param file  as the server has handed it over; not kept
  /// @return invalid_input for what is no such memory; busy
  [[nodiscard]] static Result<SharedPages> open(const base::FileDescriptor& file,
                                                const AreaSizes& sizes);

  [[nodiscard]] int fd() const noexcept { return memory_.fd(); }
  void close_file() noexcept { memory_.close_file(); }
  /// Takes the memory from both ends. Called by the server, when it reads nothing there any more.
  void discard() noexcept { memory_.discard(); }

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] ControlBlock& control() const noexcept {
    return *reinterpret_cast<ControlBlock*>(memory_.data());
  }
  [[nodiscard]] RingMemory<Submission> submissions() const noexcept;
  [[nodiscard]] RingMemory<CompletionEntry> completions() const noexcept;
  [[nodiscard]] std::span<char> options(std::uint32_t slot) const noexcept;
  [[nodiscard]] std::span<std::byte> report(std::uint32_t slot) const noexcept;
  /// Without the guard behind it.
  [[nodiscard]] std::span<std::uint8_t> input() const noexcept {
    return {at<std::uint8_t>(layout_.input), layout_.sizes.input_bytes};
  }
  [[nodiscard]] std::span<std::uint8_t> input_with_guard() const noexcept {
    return {input().data(), layout_.sizes.input_bytes + kInputGuardBytes};
  }
  [[nodiscard]] std::span<std::uint8_t> output() const noexcept {
    return {at<std::uint8_t>(layout_.output), layout_.sizes.output_bytes};
  }

 private:
  template <typename T>
  [[nodiscard]] T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(memory_.data() + offset);
  }

  Layout layout_;
  transport::shared::SealedMemory memory_;
};

/// Copies text or bytes out of shared memory. What was copied does not change afterwards: the
/// compiler may not read the source again.
inline void copy_once(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
  asm volatile("" ::: "memory");
}

}  // namespace framewire::ipc
