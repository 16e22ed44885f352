// Chunked bodies (RFC 9112 7.1), read strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace framewire::service::http {

/// Takes a chunked body apart as it comes. Extensions and trailers are read and dropped, within
/// bounds. Not thread-safe.
class ChunkDecoder {
 public:
  /// What one step found.
  struct Step {
    std::size_t consumed = 0;  ///< bytes of the input that are done with
    std::string_view data{};   ///< bytes of the body among them; points into the input
    bool ended = false;        ///< the body's last byte, and its trailer, have been consumed
  };

  /// Looks at the beginning of the input. A step with nothing consumed wants more bytes.
  /// @return an error, one sentence, for bytes that are no chunked body
  [[nodiscard]] tl::expected<Step, std::string> step(std::string_view input);

 private:
  enum class State : std::uint8_t { kSize, kData, kDataEnd, kTrailer, kEnded };
  [[nodiscard]] tl::expected<Step, std::string> read_size(std::string_view input);
  [[nodiscard]] tl::expected<Step, std::string> read_trailer(std::string_view input);

  State state_ = State::kSize;
  std::uint64_t left_bytes_ = 0;     ///< of the chunk that is being read
  std::size_t trailer_bytes_ = 0;    ///< of all trailer lines so far
  std::size_t extension_bytes_ = 0;  ///< of all extensions so far
};

}  // namespace framewire::service::http
