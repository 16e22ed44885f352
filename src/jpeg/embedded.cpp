#include <algorithm>
#include <array>
#include <base/ascii.hpp>
#include <jpeg/embedded.hpp>
#include <jpeg/markers.hpp>

namespace framewire::jpeg {
namespace {

/// Fill bytes before a marker that are looked past where a stream may begin. Without a bound many
/// beginnings could lead to one long run of fill, which each of them would read.
constexpr std::size_t kMaxFill = 16;

/// Whether a segment of this marker may follow SOI.
bool is_segment(std::uint8_t code) {
  return is_app(code) || is_frame(code) || code == marker::kDqt || code == marker::kDht ||
         code == marker::kDac || code == marker::kDri || code == marker::kSos ||
         code == marker::kCom;
}

/// Moves past the segment at `at`, and up to `max_fill` fill bytes before it; false where none lies
/// there or it does not end inside `bytes`.
bool skip_segment(ByteSpan bytes, std::size_t& at, std::size_t max_fill) {
  const std::size_t last = bytes.size() - at < max_fill ? bytes.size() : at + max_fill;
  while (at < last && at + 1 < bytes.size() && bytes[at] == 0xFF &&
         bytes[at + 1] == marker::kFill) {
    ++at;
  }
  if (at + 4 > bytes.size() || bytes[at] != 0xFF || !is_segment(bytes[at + 1])) return false;
  const std::size_t length = read_u16(bytes, at + 2);
  if (length < 2 || length > bytes.size() - at - 2) return false;
  at += 2 + length;
  return true;
}

/// One past the EOI of the stream whose first segment lies at `at`.
std::size_t end_of_picture(ByteSpan bytes, std::size_t at) {
  for (bool scan = false; !scan;) {
    const std::size_t segment = at;
    if (!skip_segment(bytes, at, bytes.size())) break;
    scan = bytes[segment + 1] == marker::kSos;
  }
  // From the first scan on, or from a fault on, nothing but EOI is looked for.
  for (; at + 1 < bytes.size(); ++at) {
    if (bytes[at] == 0xFF && bytes[at + 1] == marker::kEoi) return at + 2;
  }
  return bytes.size();
}

bool has_segments(ByteSpan bytes, std::size_t at, int count) {
  for (int i = 0; i < count; ++i) {
    if (!skip_segment(bytes, at, kMaxFill)) return false;
  }
  return true;
}

bool contains(ByteSpan bytes, std::string_view what) {
  return as_text(bytes).find(what) != std::string_view::npos;
}

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/// Whether base64 in lines may contain it.
bool is_base64_text(char c) {
  return base::is_letter_or_digit(c) || c == '+' || c == '/' || is_line_end(c);
}

/// Whether base64 begins like a picture. HEIF begins with a box "ftyp" of any size below 256; sizes
/// are multiples of four, so that only one character differs.
bool begins_like_picture(std::string_view base64) {
  // FF D8 FF; the PNG signature; "RIFF"; "GIF8".
  constexpr std::array<std::string_view, 4> kBeginnings = {"/9j/", "iVBORw0KGg", "UklGR", "R0lGOD"};
  constexpr std::string_view kBox = "AAAA";
  constexpr std::string_view kFileType = "GZ0eX";
  return (base64.starts_with(kBox) && base64.substr(kBox.size() + 1).starts_with(kFileType)) ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view b) { return base64.starts_with(b); });
}

}  // namespace

std::optional<ByteRange> find_picture(ByteSpan bytes, std::size_t from) {
  const std::string_view text = as_text(bytes);
  for (std::size_t at = text.find("\xD8\xFF", from); at != std::string_view::npos;
       at = text.find("\xD8\xFF", at + 1)) {
    std::size_t code = at + 2;
    while (code < std::min(bytes.size(), at + kMaxFill) && bytes[code] == marker::kFill) ++code;
    if (code >= bytes.size() || !is_segment(bytes[code])) continue;
    const bool whole = at > from && bytes[at - 1] == 0xFF;
    if (!whole && !has_segments(bytes, at + 1, 3)) continue;
    return ByteRange{at > from ? at - 1 : at, end_of_picture(bytes, at + 1)};
  }
  return std::nullopt;
}

bool holds_picture(ByteSpan bytes) {
  return find_picture(bytes) || contains(bytes, "\x89PNG\r\n\x1A\n") ||
         contains(bytes, std::string_view("ftypheic", 8)) || contains(bytes, "ftypmif1") ||
         (contains(bytes, "WEBPVP8"));
}

bool holds_base64_picture(std::string_view text) {
  constexpr std::size_t kMinRun = 64;  // a word may begin like a picture; a picture is longer
  // Every kMinRun-th character is looked at, which meets each run that is long enough.
  for (std::size_t from = 0; text.size() - from >= kMinRun;) {
    const std::size_t probe = from + kMinRun - 1;
    if (!is_base64_text(text[probe])) {
      from = probe + 1;
      continue;
    }
    std::size_t begin = probe;
    while (begin > from && is_base64_text(text[begin - 1])) --begin;
    std::size_t end = probe + 1;
    while (end < text.size() && is_base64_text(text[end])) ++end;
    from = end;
    while (begin < end && is_line_end(text[begin])) ++begin;
    const std::string_view run = text.substr(begin, end - begin);
    if (run.size() < kMinRun) continue;
    if (begins_like_picture(run)) return true;
  }
  return false;
}

}  // namespace framewire::jpeg
