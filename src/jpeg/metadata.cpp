#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/metadata.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/warnings.hpp>
#include <jpeg/xmp.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::string_view kJfifId{"JFIF\0", 5};
constexpr std::string_view kAdobeId{"Adobe", 5};
constexpr std::string_view kExifPrefix{"Exif\0", 5};  // the sixth byte is padding of any value
constexpr std::size_t kJfifBytes = 14;
constexpr std::size_t kAdobeBytes = 12;

std::optional<Jfif> read_jfif(const Segment& segment) {
  const ByteSpan data = segment.payload;
  if (segment.marker != marker::kApp0 || data.size() < kJfifBytes || !starts_with(data, kJfifId)) {
    return std::nullopt;
  }
  return Jfif{data[5], data[6], data[7], read_u16(data, 8), read_u16(data, 10)};
}

std::optional<std::uint8_t> read_adobe(const Segment& segment) {
  const ByteSpan data = segment.payload;
  if (segment.marker != marker::kApp14 || data.size() < kAdobeBytes ||
      !starts_with(data, kAdobeId)) {
    return std::nullopt;
  }
  return data[11];
}

void interpret_app1(const Segment& segment, JpegFile& file) {
  if (file.exif.empty() && starts_with(segment.payload, kExifPrefix) &&
      segment.payload.size() >= kExifId.size()) {
    const ByteSpan block = segment.payload.subspan(kExifId.size());
    if (const auto summary = read_exif(block)) {
      file.exif = block;
      file.orientation = summary->orientation;
      file.exif_adobe_rgb = summary->adobe_rgb;
    } else {
      warn(file, WarningKind::kExifIgnored, "EXIF that is no TIFF structure", segment.offset);
    }
  }
  if (file.xmp.empty() && starts_with(segment.payload, kXmpId)) {
    file.xmp = segment.payload.subspan(kXmpId.size());
  }
}

void interpret_mpf(const Segment& segment, JpegFile& file) {
  const auto payload_offset = static_cast<std::size_t>(segment.payload.data() - file.bytes.data());
  MpfIndex index = read_mpf(segment.payload, payload_offset, file.bytes);
  if (!index.problem.empty()) warn(file, WarningKind::kBadSegment, index.problem, segment.offset);
  file.mpf = std::move(index.images);
}

void interpret_icc(std::span<const Segment> head, JpegFile& file) {
  IccAssembly icc = assemble_icc(head);
  if (!icc.problem.empty()) {
    warn(file, icc.profile.empty() ? WarningKind::kIccIgnored : WarningKind::kBadSegment,
         icc.problem, icc.offset);
  }
  file.icc = std::move(icc.profile);
}

}  // namespace

ColorModel decide_color_model(const FrameHeader& frame, bool has_jfif,
                              std::optional<std::uint8_t> adobe_transform) {
  switch (frame.component_count) {
    case 1:
      return ColorModel::kGray;
    case 3: {
      if (has_jfif) return ColorModel::kYcbcr;
      if (adobe_transform) return *adobe_transform == 0 ? ColorModel::kRgb : ColorModel::kYcbcr;
      const bool named_rgb = frame.components[0].id == 'R' && frame.components[1].id == 'G' &&
                             frame.components[2].id == 'B';
      return named_rgb ? ColorModel::kRgb : ColorModel::kYcbcr;
    }
    case 4:
      return adobe_transform.value_or(0) == 0 ? ColorModel::kCmyk : ColorModel::kYcck;
    default:
      return ColorModel::kUnknown;
  }
}

void interpret_metadata(JpegFile& file, std::size_t head_segments) {
  const auto head = std::span<const Segment>(file.segments).first(head_segments);
  bool has_mpf = false;
  for (const auto& segment : head) {
    if (const auto jfif = read_jfif(segment)) file.jfif = jfif;
    if (const auto transform = read_adobe(segment)) file.adobe_transform = transform;
    if (segment.marker == marker::kApp1) interpret_app1(segment, file);
    if (!has_mpf && segment.marker == marker::kApp2 && starts_with(segment.payload, kMpfId)) {
      has_mpf = true;
      interpret_mpf(segment, file);
    }
  }
  interpret_icc(head, file);
  file.color_model = decide_color_model(file.frame, file.jfif.has_value(), file.adobe_transform);
  find_gain_map(file);
}

}  // namespace framewire::jpeg
