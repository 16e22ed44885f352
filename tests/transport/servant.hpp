// Does what a test tells the far end of a channel to do, in words, so that it can do so from
// another process.
#pragma once

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <transport/channel.hpp>
#include <vector>

namespace framewire::transport::testing {

inline constexpr std::size_t kFarBytes = std::size_t{4} << 20;

/// Part of a region of any kind.
struct Stretch {
  Region region;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Bytes that depend on their place and on a seed.
void fill(std::span<std::byte> bytes, unsigned seed);
[[nodiscard]] bool holds(std::span<const std::byte> bytes, unsigned seed);
[[nodiscard]] bool all_zero(std::span<const std::byte> bytes);
void fill(const Stretch& part, unsigned seed);
[[nodiscard]] bool holds(const Stretch& part, unsigned seed);
[[nodiscard]] bool all_zero(const Stretch& part);

class Servant {
 public:
  /// @param memory  kFarBytes of it
  /// @param pump  called while waiting, besides the channel's own progress
  Servant(std::unique_ptr<Channel> channel, Region memory, std::function<void()> pump);

  /// Commands, numbers in bytes and ms:
  ///   offer put|get OFFSET LENGTH TTL → "N", a number for the transfer
  ///   revoke N; close; drop (destroys the channel); path; peer
  ///   take put|get → "N", a number for the lease; credits put|get
  ///   put|get LEASE OFFSET LENGTH AT DEADLINE CHECKSUM → "N"
  ///   result N → "ok BYTES VERIFIED" or "CODE message"
  ///   note N → the note's bytes, before "result"
  ///   fill OFFSET LENGTH SEED; check OFFSET LENGTH SEED, zero OFFSET LENGTH → "yes" or "no"
  ///   refused → count; sleep MS (nothing is done meanwhile)
  /// @return the answer, "ok", or the word for an error's code and its message
  std::string obey(const std::string& command);
  void step() {
    if (channel_) channel_->progress();
  }
  [[nodiscard]] Channel* channel() { return channel_.get(); }

 private:
  std::string start(const std::string& word, std::istringstream& in);
  std::string result(std::size_t number);
  std::string memory(const std::string& word, std::istringstream& in);
  std::string numbered(const Result<Transfer>& transfer);

  std::unique_ptr<Channel> channel_;
  std::function<void()> pump_;
  Region region_;
  std::vector<Transfer> transfers_;
  std::vector<Lease> leases_;
};

}  // namespace framewire::transport::testing
