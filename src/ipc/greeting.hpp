// The first messages over the socket of a server and a local client, and what follows them.
#pragma once

#include <array>
#include <cstdint>
#include <framewire/status.hpp>
#include <string>
#include <type_traits>

namespace framewire::ipc {

/// Between a server and a local client; kMessageVersion is that of clients on other hosts. Both are
/// raised with whatever an older end does not know, a new StatusCode, WarningKind or CodecKind
/// included, or another layout of the memory: it takes what it does not know for a lie, and ends
/// the connection.
inline constexpr std::uint32_t kVersion = 3;

/// What the client says, once.
struct Hello {
  static constexpr std::array<char, 16> kMagic{"framewire hello"};
  std::array<char, 16> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t slots = 0;         ///< as wanted; the server gives no more
  std::uint64_t input_bytes = 0;   ///< likewise
  std::uint64_t output_bytes = 0;  ///< likewise
};

/// What the server says, once, with the memory's file where it accepts; and a second time, without
/// one, when it ends the connection and can say why.
struct Word {
  static constexpr std::size_t kMaxText = 208;
  std::uint32_t version = kVersion;
  std::uint32_t code = 0;  ///< 0: accepted; else a StatusCode, plus 1
  std::uint32_t slots = 0;
  std::uint32_t text_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::array<char, kMaxText> text{};
};

static_assert(sizeof(Hello) == 40 && sizeof(Word) == 240);
static_assert(std::is_trivially_copyable_v<Hello> && std::is_trivially_copyable_v<Word>);

/// What a client that says no more than it must is given.
inline constexpr std::uint64_t kMinAreaBytes = std::uint64_t{64} << 10;

/// @return invalid_input for what is no greeting; unsupported for another version
[[nodiscard]] Result<void> check(const Hello& hello);

/// A refusal, or the reason of an end.
[[nodiscard]] Word make_word(const Status& status);
/// @return nothing where it is not an error; printable text, whatever came
[[nodiscard]] Result<void> read_word(const Word& word);

/// A StatusCode from a number of another process'. @param number  plus 1, as in Word
[[nodiscard]] StatusCode code_of(std::uint32_t number);
[[nodiscard]] std::uint32_t number_of(StatusCode code);

}  // namespace framewire::ipc
