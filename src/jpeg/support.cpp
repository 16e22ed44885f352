#include <fmt/format.h>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>

namespace framewire::jpeg {
namespace {

tl::unexpected<Status> refuse(const FrameHeader& frame, std::string found) {
  return fail(Status(StatusCode::kUnsupported, std::move(found)).at(frame.offset).about("SOF"));
}

}  // namespace

Result<void> check_supported(const JpegFile& file) {
  constexpr std::int32_t kMaxSidePx = 65'500;  // what libjpeg reads, below the format's 65,535
  const FrameHeader& frame = file.frame;
  if (frame.hierarchical || frame.process == Process::kLossless) {
    return refuse(frame, fmt::format("{} coding; baseline, extended and progressive are decoded",
                                     process_name(frame)));
  }
  if (frame.precision_bits != 8) {
    return refuse(frame, fmt::format("{} bits a sample; 8 are decoded", frame.precision_bits));
  }
  if (file.color_model == ColorModel::kUnknown) {
    return refuse(frame,
                  fmt::format("{} components; 1, 3 and 4 are decoded", frame.component_count));
  }
  if (frame.width_px > kMaxSidePx || frame.height_px > kMaxSidePx) {
    return refuse(frame, fmt::format("{}×{} pixels; sides up to {} are decoded", frame.width_px,
                                     frame.height_px, kMaxSidePx));
  }
  if (file.scans.empty()) {
    return fail(Status(StatusCode::kInvalidInput, "the image has no scan, so nothing to decode")
                    .at(file.end_offset)
                    .about("SOS"));
  }
  return {};
}

}  // namespace framewire::jpeg
