#include <algorithm>
#include <codec/strict_refusal.hpp>
#include <codec/turbo/libjpeg.hpp>
#include <cstring>

namespace framewire::codec::turbo {
namespace {

/// The kind of one of libjpeg's warnings.
WarningKind warning_kind(int code) {
  switch (code) {
    case JWRN_JPEG_EOF:
      return WarningKind::kTruncated;
    case JWRN_EXTRANEOUS_DATA:
      return WarningKind::kExtraneousBytes;
    default:
      return WarningKind::kCorruptData;
  }
}

/// Who must act on one of libjpeg's errors.
StatusCode error_code(int code) {
  switch (code) {
    case JERR_OUT_OF_MEMORY:
      return StatusCode::kBusy;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_ARITH_NOTIMPL:
      return StatusCode::kUnsupported;
    case JERR_IMAGE_TOO_BIG:
    case JERR_WIDTH_OVERFLOW:
      return StatusCode::kTooLarge;
    default:
      return StatusCode::kInvalidInput;
  }
}

}  // namespace

ErrorHandler::ErrorHandler(bool strict) : strict_(strict) {
  jpeg_std_error(&base_.manager);
  base_.manager.error_exit = &on_error;
  base_.manager.emit_message = &on_message;
  base_.manager.output_message = &on_output;
  base_.owner = this;
}

ErrorHandler& ErrorHandler::self(j_common_ptr cinfo) {
  return *reinterpret_cast<Base*>(cinfo->err)->owner;
}

void ErrorHandler::format(j_common_ptr cinfo) { cinfo->err->format_message(cinfo, message_); }

void ErrorHandler::on_error(j_common_ptr cinfo) {
  ErrorHandler& handler = self(cinfo);
  handler.format(cinfo);
  handler.code_ = error_code(cinfo->err->msg_code);
  std::longjmp(handler.escape_, 1);
}

void ErrorHandler::on_message(j_common_ptr cinfo, int level) {
  if (level >= 0) return;  // a trace message, no warning
  ErrorHandler& handler = self(cinfo);
  ++cinfo->err->num_warnings;
  if (handler.strict_) {
    handler.format(cinfo);
    handler.code_ = StatusCode::kInvalidInput;
    handler.refused_warning_ = cinfo->err->msg_code;
    std::longjmp(handler.escape_, 1);
  }
  const int code = cinfo->err->msg_code;
  const auto begin = handler.warning_codes_.begin();
  const auto end = begin + handler.kept_;
  // Behind the end of the file there is no data either: one warning says both.
  if (code == JWRN_HIT_MARKER && std::find(begin, end, JWRN_JPEG_EOF) != end) return;
  if (handler.kept_ == kKeptWarnings || std::find(begin, end, code) != end) return;
  handler.warning_codes_[static_cast<std::size_t>(handler.kept_)] = code;
  cinfo->err->format_message(cinfo, handler.warning_text_[handler.kept_]);
  ++handler.kept_;
}

void ErrorHandler::on_output(j_common_ptr) {}

void ErrorHandler::leave(StatusCode code, const char* message) {
  code_ = code;
  std::strncpy(message_, message, sizeof(message_) - 1);
  std::longjmp(escape_, 1);
}

Status ErrorHandler::status() const {
  if (refused_warning_ == kNone) return Status(code_, message_);
  return strict_refusal({warning_kind(refused_warning_), message_, {}});
}

std::vector<Warning> ErrorHandler::warnings() const {
  std::vector<Warning> all;
  all.reserve(static_cast<std::size_t>(kept_));
  for (int i = 0; i < kept_; ++i) {
    all.push_back(
        {warning_kind(warning_codes_[static_cast<std::size_t>(i)]), warning_text_[i], {}});
  }
  return all;
}

}  // namespace framewire::codec::turbo
