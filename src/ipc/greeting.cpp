#include <fmt/format.h>
#include <algorithm>
#include <base/utf8.hpp>
#include <ipc/greeting.hpp>

namespace framewire::ipc {
namespace {

/// Whether both ends of kVersion and kMessageVersion know a code. Without a default, so that a new
/// code does not compile until it stands here: raise both versions with it.
constexpr bool is_of_version(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kInvalidInput:
    case StatusCode::kUnsupported:
    case StatusCode::kTooLarge:
    case StatusCode::kBusy:
    case StatusCode::kDeadline:
    case StatusCode::kIoError:
    case StatusCode::kDeviceLost:
    case StatusCode::kPeerLost:
    case StatusCode::kDenied:
    case StatusCode::kInternal:
    case StatusCode::kCancelled:
      return true;
  }
  return false;
}

}  // namespace

Result<void> check(const Hello& hello) {
  if (hello.magic != Hello::kMagic) {
    return fail(StatusCode::kInvalidInput, "what came first is no greeting of a Framewire client");
  }
  if (hello.version != kVersion) {
    return fail(
        StatusCode::kUnsupported,
        fmt::format("the client speaks version {}, this server {}", hello.version, kVersion));
  }
  if (hello.slots == 0) {
    return fail(StatusCode::kInvalidInput, "found 0 slots; accepted: 1 or more");
  }
  return {};
}

Word make_word(const Status& status) {
  Word word;
  word.code = number_of(status.code());
  const std::string& text = status.message();
  word.text_bytes = static_cast<std::uint32_t>(std::min(text.size(), word.text.size()));
  std::copy_n(text.begin(), word.text_bytes, word.text.begin());
  return word;
}

Result<void> read_word(const Word& word) {
  if (word.code == 0) return {};
  const std::string_view text(word.text.data(),
                              std::min<std::size_t>(word.text_bytes, word.text.size()));
  return fail(code_of(word.code), base::shown_safely(text));
}

std::uint32_t number_of(StatusCode code) { return static_cast<std::uint32_t>(code) + 1; }

StatusCode code_of(std::uint32_t number) {
  if (number == 0 || number > 256) return StatusCode::kInternal;
  const auto code = static_cast<StatusCode>(number - 1);
  return is_of_version(code) ? code : StatusCode::kInternal;
}

}  // namespace framewire::ipc
