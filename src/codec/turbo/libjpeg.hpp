// libjpeg-turbo's C interface with its errors turned into values.
#pragma once

// clang-format off
// libjpeg's headers need size_t and FILE declared, and one another in this order.
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
#include <jpegint.h>
// clang-format on

#include <array>
#include <base/clock.hpp>
#include <csetjmp>
#include <cstdint>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <vector>

namespace framewire::codec::turbo {

/// Catches errors for which libjpeg would exit, and warnings that it would print. Calls into
/// libjpeg run inside guarded(): an error leaves them by longjmp, so nothing with a destructor may
/// live in the guarded function.
class ErrorHandler {
 public:
  explicit ErrorHandler(bool strict);
  ErrorHandler(const ErrorHandler&) = delete;
  ErrorHandler& operator=(const ErrorHandler&) = delete;

  /// The manager to hang into cinfo.err.
  [[nodiscard]] jpeg_error_mgr* manager() noexcept { return &base_.manager; }

  /// Runs `call`; false where libjpeg raised an error, then status() says which.
  template <typename Call>
  [[nodiscard]] bool guarded(const Call& call) {
    if (setjmp(escape_) != 0) return false;
    call();
    return true;
  }

  /// Leaves the guarded call with a status of our own (deadline, a limit). Never returns.
  [[noreturn]] void leave(StatusCode code, const char* message);

  /// The error that ended a guarded call.
  [[nodiscard]] Status status() const;
  /// The first few warnings; libjpeg counts the rest.
  [[nodiscard]] std::vector<Warning> warnings() const;

 private:
  static void on_error(j_common_ptr cinfo);
  static void on_message(j_common_ptr cinfo, int level);
  static void on_output(j_common_ptr cinfo);
  static ErrorHandler& self(j_common_ptr cinfo);
  void format(j_common_ptr cinfo);

  struct Base {
    jpeg_error_mgr manager;  // first: libjpeg hands its address back
    ErrorHandler* owner;
  };
  static constexpr int kKeptWarnings = 4;  ///< of different kinds
  static constexpr int kNone = -1;

  Base base_{};
  std::jmp_buf escape_{};
  bool strict_;
  StatusCode code_ = StatusCode::kInvalidInput;
  char message_[JMSG_LENGTH_MAX]{};
  int refused_warning_ = kNone;  ///< the warning that strict made the error
  int kept_ = 0;
  std::array<int, kKeptWarnings> warning_codes_{};
  char warning_text_[kKeptWarnings][JMSG_LENGTH_MAX]{};
};

}  // namespace framewire::codec::turbo
