// What nvJPEG takes; everything else is for another codec.
#include <fmt/format.h>
#include <codec/nvjpeg/decoder.hpp>
#include <codec/nvjpeg/error.hpp>
#include <cstring>
#include <jpeg/markers.hpp>

namespace framewire::codec::nvjpeg {
namespace {

tl::unexpected<Status> not_decoded(std::string what) {
  return fail(StatusCode::kUnsupported, "nvJPEG does not take " + std::move(what));
}

/// Shortest segment that is safe: below, nvJPEG's own Huffman decoders lose their place at restart
/// markers (13.3 on H200: some files with segments of 1 to 4 bytes give wrong samples, none with 5
/// or more).
constexpr std::size_t kShortestSegmentBytes = 5;

/// Whether a restart marker follows another, or the scan's first byte, within fewer bytes.
bool has_short_segment(const jpeg::JpegFile& file, const jpeg::Scan& scan) {
  const std::uint8_t* at = file.bytes.data() + scan.entropy_offset;
  const std::uint8_t* const end = at + scan.entropy_bytes;
  const std::uint8_t* begin = at;
  while ((at = static_cast<const std::uint8_t*>(
              std::memchr(at, 0xFF, static_cast<std::size_t>(end - at)))) != nullptr &&
         end - at > 1) {
    if (jpeg::is_restart(at[1])) {
      if (static_cast<std::size_t>(at - begin) < kShortestSegmentBytes) return true;
      begin = at + 2;
    }
    ++at;
  }
  return false;
}

/// Refuses files that nvJPEG claims to take and decodes wrongly. Each kind was found by tests/gpu.
Result<void> check_known_faults(const jpeg::JpegFile& file, Backend backend) {
  const jpeg::FrameHeader& frame = file.frame;
  if (frame.component_count == 1 && (frame.h_max != 1 || frame.v_max != 1)) {
    return not_decoded("one component with sampling factors above 1");
  }
  if (backend == Backend::kHardware) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
      if (file.quant_tables[static_cast<std::size_t>(file.component_quant[c])].sixteen_bit) {
        return not_decoded("16-bit quantisers in its hardware decoder");
      }
    }
    return {};
  }
  for (const jpeg::Scan& scan : file.scans) {
    if (scan.restart_interval_mcus != 0 && has_short_segment(file, scan)) {
      return not_decoded("restart markers less than 5 bytes apart");
    }
  }
  return {};
}

/// Refuses what nvJPEG reports only from inside a batch, or fills in by guesses.
Result<void> check_structure(const jpeg::JpegFile& file) {
  const jpeg::FrameHeader& frame = file.frame;
  if (frame.arithmetic || frame.hierarchical || frame.process == jpeg::Process::kLossless) {
    return not_decoded(jpeg::process_name(frame) + " coding");
  }
  if (frame.precision_bits != 8) return not_decoded(fmt::format("{} bits", frame.precision_bits));
  if (frame.component_count != 1 && frame.component_count != 3) {
    return not_decoded(fmt::format("{} components", frame.component_count));
  }
  if (file.scans.empty()) return not_decoded("a file without scans");
  if (file.truncated) return not_decoded("a file that ends before EOI");
  if (frame.height_from_dnl) return not_decoded("a height that follows the scan");
  for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
    if (file.component_quant[c] < 0) return not_decoded("a component without quantiser");
  }
  for (const jpeg::Scan& scan : file.scans) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
      if ((scan.dc_table[i] < 0 && scan.spectral_start == 0) ||
          (scan.ac_table[i] < 0 && scan.spectral_end > 0)) {
        return not_decoded("a file that defines no Huffman tables");
      }
    }
  }
  return {};
}

}  // namespace

Result<void> NvjpegDecoder::check(const jpeg::JpegFile& file) {
  if (auto ok = check_structure(file); !ok) return ok;
  if (auto ok = check_known_faults(file, backend_); !ok) return ok;
  auto taken = check_by_nvjpeg(file);
  if (taken) return {};
  return not_decoded(fmt::format("this file: {}", taken.error().message()));
}

Result<void> NvjpegDecoder::check_by_nvjpeg(const jpeg::JpegFile& file) {
  nvjpegJpegStream_t parsed = parsed_.get();
  if (auto ok = nvjpeg::check(
          nvjpegJpegStreamParseHeader(handle_.get(), file.bytes.data(), file.end_offset, parsed),
          "reading its header");
      !ok) {
    return ok;
  }
  int refused = 1;
  if (auto ok = nvjpeg::check(nvjpegDecodeBatchedSupported(handle_.get(), parsed, &refused),
                              "asking for support");
      !ok) {
    return ok;
  }
  if (refused != 0) {
    return not_decoded(fmt::format("{} {} in its {} decoder", jpeg::process_name(file.frame),
                                   jpeg::sampling_name(file.frame), to_string(backend_)));
  }
  // Our own reading of the header sizes the planes, so nvJPEG must read the same sizes.
  for (unsigned c = 0; c < static_cast<unsigned>(file.frame.component_count); ++c) {
    const jpeg::Component& component = file.frame.components[c];
    unsigned width = 0;
    unsigned height = 0;
    const nvjpegStatus_t found = nvjpegJpegStreamGetComponentDimensions(parsed, c, &width, &height);
    if (found != NVJPEG_STATUS_SUCCESS || width != static_cast<unsigned>(component.width_px) ||
        height != static_cast<unsigned>(component.height_px)) {
      return not_decoded(fmt::format("component {} of {}×{}, which it reads as {}×{}", c,
                                     component.width_px, component.height_px, width, height));
    }
  }
  return {};
}

}  // namespace framewire::codec::nvjpeg
