// Errors are values: every fallible call returns Result<T>.
#pragma once

#include <cstdint>
#include <framewire/export.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace framewire {

/// Who must act on an error. Names are stable: they appear in manifests and JSON.
enum class StatusCode : std::uint8_t {
  kInvalidInput,  ///< the caller's bytes or option are wrong; other input may succeed
  kUnsupported,   ///< the input is legal, but this build or codec does not process it
  kTooLarge,      ///< a stated limit would be exceeded; raise the limit or send less
  kBusy,          ///< what the request needs is all in use now: memory, threads, places in a queue;
                  ///< the same request may succeed later
  kDeadline,      ///< the time allowed for this request ran out
  kIoError,       ///< the operating system refused; the message carries its reason
  kDeviceLost,    ///< an accelerator failed; the request may be sent again elsewhere
  kPeerLost,      ///< the other end of a transport is gone
  kDenied,        ///< access control refused the request
  kInternal,      ///< a defect of Framewire; please report it
  kCancelled,     ///< whoever asked no longer wants it
};

/// The stable word for a code: "invalid_input", "unsupported", …
[[nodiscard]] FRAMEWIRE_API std::string_view to_string(StatusCode code) noexcept;

/// One error: who must act, what was found, where, and what would be accepted.
class [[nodiscard]] FRAMEWIRE_API Status {
 public:
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] StatusCode code() const noexcept { return code_; }
  /// What was found and what would be accepted; one line, no trailing period.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// Byte offset in the input where the fault was found, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> offset() const noexcept { return offset_; }
  /// The file, option or marker that the error is about; may be empty.
  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }

  Status&& at(std::uint64_t offset) && {
    offset_ = offset;
    return std::move(*this);
  }
  Status&& about(std::string subject) && {
    subject_ = std::move(subject);
    return std::move(*this);
  }

  /// "invalid_input: photo.jpg: … (at byte 123)".
  [[nodiscard]] std::string to_string() const;

 private:
  StatusCode code_;
  std::string message_;
  std::string subject_;
  std::optional<std::uint64_t> offset_;
};

template <typename T>
using Result = tl::expected<T, Status>;

/// Shorthand for returning an error from a function that returns Result<T>.
[[nodiscard]] inline tl::unexpected<Status> fail(StatusCode code, std::string message) {
  return tl::unexpected<Status>(Status(code, std::move(message)));
}
[[nodiscard]] inline tl::unexpected<Status> fail(Status status) {
  return tl::unexpected<Status>(std::move(status));
}

}  // namespace framewire
