#include <fmt/format.h>
#include <algorithm>
#include <frames/header.hpp>
#include <transport/bytes.hpp>
#include <transport/checksum.hpp>

namespace framewire::frames {
namespace {

using transport::load;
using transport::store;

constexpr std::uint32_t kMagic = 0x52465746;  // "FWFR"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kLastFlag = 1;
constexpr std::size_t kPlanesAt = 56;
constexpr std::size_t kPlaneBytes = 12;
constexpr std::size_t kChecksumAt = 104;
constexpr std::int32_t kMaxSide_px = 65'535;
constexpr std::uint32_t kMaxPitch_bytes = 65'536;

bool is_side(std::int32_t side_px) { return side_px >= 1 && side_px <= kMaxSide_px; }

bool is_plane(const PlaneShape& plane) {
  return is_side(plane.width_px) && is_side(plane.height_px) &&
         plane.pitch_bytes >= static_cast<std::uint32_t>(plane.width_px) &&
         plane.pitch_bytes <= kMaxPitch_bytes;
}

tl::unexpected<Status> wrong(std::string what) {
  return fail(StatusCode::kInvalidInput, "a frame header with " + std::move(what));
}

Result<void> check_planes(const PictureHeader& header) {
  if (header.plane_count != 1 && header.plane_count != 3) {
    return wrong(fmt::format("{} planes; 1 (gray) or 3 (YCbCr)", header.plane_count));
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < header.planes.size(); ++i) {
    const PlaneShape& plane = header.planes[i];
    const bool used = i < static_cast<std::size_t>(header.plane_count);
    if (used ? !is_plane(plane) : plane != PlaneShape{}) {
      return wrong(fmt::format("plane {} of {}x{}, pitch {}", i, plane.width_px, plane.height_px,
                               plane.pitch_bytes));
    }
    bytes += plane.bytes();
  }
  if (bytes == header.payload_bytes) return {};
  return wrong(fmt::format("planes of {} bytes and a payload of {}", bytes, header.payload_bytes));
}

std::uint64_t checksum(const std::byte* bytes) {
  return transport::checksum_of(bytes, kChecksumAt);
}

PictureHeader read_fields(const std::byte* from) {
  PictureHeader header;
  header.format = static_cast<FrameFormat>(load<std::uint8_t>(from + 5));
  header.plane_count = load<std::uint8_t>(from + 6);
  header.last = load<std::uint8_t>(from + 7) == kLastFlag;
  header.orientation = load<std::uint8_t>(from + 8);
  header.width_px = load<std::int32_t>(from + 12);
  header.height_px = load<std::int32_t>(from + 16);
  header.sequence = load<std::uint64_t>(from + 24);
  header.previous_sequence = load<std::uint64_t>(from + 32);
  header.timestamp_ns = load<std::int64_t>(from + 40);
  header.payload_bytes = load<std::uint64_t>(from + 48);
  for (std::size_t i = 0; i < header.planes.size(); ++i) {
    const std::byte* plane = from + kPlanesAt + i * kPlaneBytes;
    header.planes[i] = {load<std::int32_t>(plane), load<std::int32_t>(plane + 4),
                        load<std::uint32_t>(plane + 8)};
  }
  return header;
}

}  // namespace

Result<void> check(const PictureHeader& header) {
  if (header.last) {
    PictureHeader end;
    end.last = true;
    end.sequence = header.sequence;
    end.previous_sequence = header.previous_sequence;
    end.timestamp_ns = header.timestamp_ns;
    if (header == end) return {};
    return wrong("the mark of the end and a picture");
  }
  if (!is_side(header.width_px) || !is_side(header.height_px) || header.orientation < 1 ||
      header.orientation > 8) {
    return wrong(fmt::format("a picture of {}x{}, orientation {}", header.width_px,
                             header.height_px, header.orientation));
  }
  if (header.format == FrameFormat::kPlanes) return check_planes(header);
  if (header.format != FrameFormat::kJpeg) {
    return wrong(fmt::format("format {}; 1 (JPEG) or 2 (planes)", static_cast<int>(header.format)));
  }
  const bool bare = header.plane_count == 0 && header.planes == PictureHeader{}.planes;
  if (bare && header.payload_bytes > 0) return {};
  return wrong(
      fmt::format("a JPEG of {} bytes in {} planes", header.payload_bytes, header.plane_count));
}

std::array<std::byte, kPictureHeaderBytes> encode(const PictureHeader& header) noexcept {
  std::array<std::byte, kPictureHeaderBytes> bytes{};
  std::byte* to = bytes.data();
  store(to, kMagic);
  store(to + 4, kVersion);
  store(to + 5, static_cast<std::uint8_t>(header.format));
  store(to + 6, static_cast<std::uint8_t>(header.plane_count));
  store(to + 7, header.last ? kLastFlag : std::uint8_t{0});
  store(to + 8, static_cast<std::uint8_t>(header.orientation));
  store(to + 12, header.width_px);
  store(to + 16, header.height_px);
  store(to + 24, header.sequence);
  store(to + 32, header.previous_sequence);
  store(to + 40, header.timestamp_ns);
  store(to + 48, header.payload_bytes);
  for (std::size_t i = 0; i < header.planes.size(); ++i) {
    std::byte* plane = to + kPlanesAt + i * kPlaneBytes;
    store(plane, header.planes[i].width_px);
    store(plane + 4, header.planes[i].height_px);
    store(plane + 8, header.planes[i].pitch_bytes);
  }
  store(to + kChecksumAt, checksum(to));
  return bytes;
}

Result<PictureHeader> decode_picture_header(std::span<const std::byte> bytes) {
  if (bytes.size() != kPictureHeaderBytes || load<std::uint32_t>(bytes.data()) != kMagic) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} bytes that are no frame header", bytes.size()));
  }
  const std::byte* from = bytes.data();
  if (const auto version = load<std::uint8_t>(from + 4); version != kVersion) {
    return fail(StatusCode::kUnsupported,
                fmt::format("a frame header of version {}; {} is spoken", version, kVersion));
  }
  if (load<std::uint64_t>(from + kChecksumAt) != checksum(from)) return wrong("a wrong checksum");
  const PictureHeader header = read_fields(from);
  const auto again = encode(header);
  if (!std::equal(again.begin(), again.end(), bytes.begin())) return wrong("reserved bits set");
  if (header.sequence == 0 || header.previous_sequence >= header.sequence) {
    return wrong(fmt::format("sequence {} after {}", header.sequence, header.previous_sequence));
  }
  if (auto good = check(header); !good) return fail(std::move(good.error()));
  return header;
}

}  // namespace framewire::frames
