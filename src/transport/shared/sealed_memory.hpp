// Memory that two processes map, and neither can take from under the other.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>

namespace framewire::transport::shared {

/// A file without a name, mapped here, whose size is sealed.
class SealedMemory {
 public:
  SealedMemory() = default;
  /// Zeroed memory of our own, all of it touched. @return busy
  [[nodiscard]] static Result<SealedMemory> make(std::size_t bytes);
  /// What another process has made, exactly as long. @param file  may be anything; not kept
  /// @return invalid_input for what is no such memory, or could fail us while we use it; busy
  [[nodiscard]] static Result<SealedMemory> open(const base::FileDescriptor& file,
                                                 std::size_t bytes, bool writable);
  ~SealedMemory();
  SealedMemory(SealedMemory&& other) noexcept { *this = std::move(other); }
  SealedMemory& operator=(SealedMemory&& other) noexcept;

  /// To be handed over; -1 for what another process has made, and after close_file().
  [[nodiscard]] int fd() const noexcept { return file_.get(); }
  /// After which nobody can be given the memory any more, nor find it among our files.
  void close_file() noexcept { file_.reset(); }
  [[nodiscard]] std::byte* data() const noexcept { return memory_; }
  /// Gives all pages back to the system, whoever maps the memory or has its file: it reads as zeros
  /// from here on, and who writes there takes pages of its own. For memory of our own.
  void discard() noexcept;

 private:
  [[nodiscard]] static Result<SealedMemory> map(int fd, std::size_t bytes, int protection);

  base::FileDescriptor file_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace framewire::transport::shared
