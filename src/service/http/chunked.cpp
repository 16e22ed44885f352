#include <algorithm>
#include <charconv>
#include <service/http/chunked.hpp>
#include <service/http/head.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;
using Error = tl::unexpected<std::string>;

// A line of a size with its extension, or of the trailer.
constexpr std::size_t kMaxLineBytes = 256;
// Sums over a body: a megabyte sent as chunks of one byte has no extensions to speak of.
constexpr std::size_t kMaxExtensionBytes = 4096;
constexpr std::size_t kMaxTrailerBytes = 4096;
// 16^15 bytes fit any counter; the body's own bound is much lower.
constexpr std::size_t kMaxSizeDigits = 15;

bool is_line_char(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7F);
}

// The first line without its end. Nothing (data() null) where it has not come whole.
tl::expected<Text, std::string> first_line(Text input) {
  const auto end = input.find('\n');
  if (end == Text::npos) {
    if (input.size() > kMaxLineBytes) return Error("a line of the chunked body is too long");
    return Text{};
  }
  if (end > kMaxLineBytes) return Error("a line of the chunked body is too long");
  if (end == 0 || input[end - 1] != '\r') {
    return Error("a line of the chunked body does not end with carriage return and line feed");
  }
  const Text line = input.substr(0, end - 1);
  if (!std::all_of(line.begin(), line.end(), is_line_char)) {
    return Error("a line of the chunked body has a control character");
  }
  return line;
}

}  // namespace

tl::expected<ChunkDecoder::Step, std::string> ChunkDecoder::read_size(Text input) {
  const auto line = first_line(input);
  if (!line) return Error(line.error());
  if (line->data() == nullptr) return Step{};
  const auto extension = line->find(';');
  Text digits = line->substr(0, extension);
  // Blanks may stand between the size and the `;` of an extension ("BWS", RFC 9112 7.1.1). Anywhere
  // else around the size they are refused: not all agree on what they mean.
  if (extension != Text::npos) digits = digits.substr(0, digits.find_last_not_of(" \t") + 1);
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, left_bytes_, 16);
  if (digits.empty() || digits.size() > kMaxSizeDigits || error != std::errc{} || stop != end) {
    return Error("a chunk's size is no hexadecimal number");
  }
  extension_bytes_ += line->size() - digits.size();
  if (extension_bytes_ > kMaxExtensionBytes) return Error("the chunks have too many extensions");
  state_ = left_bytes_ == 0 ? State::kTrailer : State::kData;
  return Step{line->size() + 2, {}, false};
}

tl::expected<ChunkDecoder::Step, std::string> ChunkDecoder::read_trailer(Text input) {
  const auto line = first_line(input);
  if (!line) return Error(line.error());
  if (line->data() == nullptr) return Step{};
  trailer_bytes_ += line->size() + 2;
  if (trailer_bytes_ > kMaxTrailerBytes) return Error("the chunked body's trailer is too long");
  if (line->empty()) {
    state_ = State::kEnded;
    return Step{2, {}, true};
  }
  if (!is_token(line->substr(0, line->find(':'))) || line->find(':') == Text::npos) {
    return Error("a line of the trailer is no field");
  }
  return Step{line->size() + 2, {}, false};
}

tl::expected<ChunkDecoder::Step, std::string> ChunkDecoder::step(Text input) {
  switch (state_) {
    case State::kSize:
      return read_size(input);
    case State::kData: {
      const auto take =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_bytes_, input.size()));
      left_bytes_ -= take;
      if (left_bytes_ == 0) state_ = State::kDataEnd;
      return Step{take, input.substr(0, take), false};
    }
    case State::kDataEnd:
      if (input.size() < 2) {
        if (!input.empty() && input[0] != '\r') return Error("a chunk is longer than its size");
        return Step{};
      }
      if (input.substr(0, 2) != "\r\n") return Error("a chunk is longer than its size");
      state_ = State::kSize;
      return Step{2, {}, false};
    case State::kTrailer:
      return read_trailer(input);
    case State::kEnded:
      return Step{0, {}, true};
  }
  return Error("no state");
}

}  // namespace framewire::service::http
