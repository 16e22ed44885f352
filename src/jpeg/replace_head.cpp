#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/head.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/replace_head.hpp>
#include <jpeg/writer.hpp>

namespace framewire::jpeg {
namespace {

/// Whether the picture needs the segment. What is not named here is left out.
bool is_of_the_picture(std::uint8_t code) {
  switch (code) {
    case marker::kDqt:
    case marker::kDht:
    case marker::kDac:
    case marker::kDri:
    case marker::kDnl:
    case marker::kSos:
      return true;
    default:
      return is_frame(code);
  }
}

Result<void> append_picture(const JpegFile& file, Bytes& out) {
  if (file.scans.empty()) return fail(StatusCode::kInvalidInput, "the input ends before any scan");
  if (file.markers.size() == kMaxListed) {
    return fail(StatusCode::kInvalidInput, "more segments than are copied");
  }
  const std::size_t end = std::min(file.end_offset, file.bytes.size());
  out.reserve(out.size() + end);
  for (const MarkerEntry& entry : file.markers) {
    if (!is_of_the_picture(entry.marker) || entry.offset >= end) continue;
    append_bytes(out, file.bytes.subspan(entry.offset, std::min(entry.bytes, end - entry.offset)));
  }
  write_eoi(out);
  return {};
}

/// What the head has to say of the components, where JFIF cannot.
std::optional<std::uint8_t> adobe_transform(const JpegFile& file) {
  if (file.color_model == ColorModel::kRgb) return std::uint8_t{0};
  return file.frame.component_count == 4 ? file.adobe_transform : std::nullopt;
}

/// @return empty where the file has none that can be carried
Bytes copy_gain_map(const JpegFile& primary, const Limits& limits, base::Deadline deadline) {
  const auto file = parse(gain_map_bytes(primary), limits, ParseDepth::kWhole, deadline);
  if (!file || !check_supported(*file)) return {};
  const bool fits_jfif =
      file->color_model == ColorModel::kGray || file->color_model == ColorModel::kYcbcr;
  auto head = make_gain_map_head(*file);
  if (!fits_jfif || !head || !append_picture(*file, *head)) return {};
  return std::move(*head);
}

}  // namespace

Result<Bytes> replace_head(const JpegFile& file, Metadata metadata, GainMap gain_map,
                           const Limits& limits, base::Deadline deadline) {
  if (auto ok = check_supported(file); !ok) return fail(ok.error());
  Bytes map;
  if (gain_map == GainMap::kKeep && file.gain_map) map = copy_gain_map(file, limits, deadline);
  if (deadline.passed()) return fail(StatusCode::kDeadline, "the time allowed ran out");
  HeadFacts facts;
  facts.width_px = file.frame.width_px;
  facts.height_px = file.frame.height_px;
  facts.places = Places::kSame;
  facts.adobe_transform = adobe_transform(file);
  facts.icc = file.icc;
  facts.gain_map_bytes = map.size();
  auto out = make_head(file, metadata, facts);
  if (!out) return fail(out.error());
  if (auto ok = append_picture(file, *out); !ok) return fail(ok.error());
  if (map.empty()) return out;
  const auto tail = make_gain_map_tail(*out, map);
  if (!tail) return fail(tail.error());
  std::copy(tail->index.begin(), tail->index.end(),
            out->begin() + static_cast<std::ptrdiff_t>(tail->index_offset));
  append_bytes(*out, map);
  return out;
}

}  // namespace framewire::jpeg
