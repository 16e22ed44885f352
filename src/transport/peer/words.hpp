// Host memory in which the copies of one process tell another that they are done.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <transport/device.hpp>
#include <transport/shared/sealed_memory.hpp>

namespace framewire::transport::peer {

/// One word a slot of a receive buffer. Whoever pushes has a device write the copy's number there;
/// whoever owns the receive buffer reads it, and believes no more by it than that the slot holds
/// what its peer wants it to hold. Nobody relies on words that another process can write for
/// anything else.
class Words {
 public:
  /// Ours, that copies of `devices` can tell. @return busy, unsupported, device_lost
  [[nodiscard]] static Result<std::unique_ptr<Words>> make(DeviceMemory& devices);
  /// The peer's, to read. @param file  may be anything @return invalid_input for what is no such
  /// memory, or could fail us while we read
  [[nodiscard]] static Result<std::unique_ptr<Words>> open(const base::FileDescriptor& file);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  [[nodiscard]] int fd() const noexcept { return memory_.fd(); }
  /// Where a device writes one of ours.
  [[nodiscard]] std::uint64_t* device_word(unsigned slot) const;
  [[nodiscard]] std::uint64_t read(unsigned slot) const;

 private:
  Words() = default;

  shared::SealedMemory memory_;
  DeviceMemory* devices_ = nullptr;  ///< that have it pinned
  std::byte* device_ = nullptr;      ///< the same memory, as devices name it
};

}  // namespace framewire::transport::peer
