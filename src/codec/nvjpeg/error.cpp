#include <fmt/format.h>
#include <codec/nvjpeg/error.hpp>
#include <string_view>

namespace framewire::codec::nvjpeg {
namespace {

struct Meaning {
  StatusCode code;
  std::string_view name;
};

Meaning meaning_of(nvjpegStatus_t status) {
  switch (status) {
    case NVJPEG_STATUS_INVALID_PARAMETER:
      return {StatusCode::kInternal, "INVALID_PARAMETER"};
    case NVJPEG_STATUS_BAD_JPEG:
      return {StatusCode::kInvalidInput, "BAD_JPEG"};
    case NVJPEG_STATUS_INCOMPLETE_BITSTREAM:
      return {StatusCode::kInvalidInput, "INCOMPLETE_BITSTREAM"};
    case NVJPEG_STATUS_JPEG_NOT_SUPPORTED:
      return {StatusCode::kUnsupported, "JPEG_NOT_SUPPORTED"};
    case NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED:
      return {StatusCode::kUnsupported, "IMPLEMENTATION_NOT_SUPPORTED"};
    case NVJPEG_STATUS_ARCH_MISMATCH:
      return {StatusCode::kUnsupported, "ARCH_MISMATCH"};
    case NVJPEG_STATUS_ALLOCATOR_FAILURE:
      return {StatusCode::kBusy, "ALLOCATOR_FAILURE"};
    case NVJPEG_STATUS_EXECUTION_FAILED:
      return {StatusCode::kDeviceLost, "EXECUTION_FAILED"};
    default:
      return {StatusCode::kInternal, "an error of its own"};
  }
}

}  // namespace

Result<void> check(nvjpegStatus_t status, const char* doing) {
  if (status == NVJPEG_STATUS_SUCCESS) return {};
  const Meaning meaning = meaning_of(status);
  return fail(meaning.code, fmt::format("{} failed: nvJPEG says {} ({})", doing, meaning.name,
                                        static_cast<int>(status)));
}

}  // namespace framewire::codec::nvjpeg
