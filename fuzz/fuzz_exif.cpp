// Binary metadata: EXIF with maker notes, an MPF index, image resources. Whatever the bytes, what
// is kept of them holds no picture and is no longer than they are.
#include <cstdint>
#include <cstdlib>
#include <jpeg/embedded.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/mpf.hpp>

namespace {

using namespace framewire::jpeg;

/// A broken promise ends the run, also where assertions are compiled out.
void require(bool promise) {
  if (!promise) std::abort();
}

void check_exif(ByteSpan block) {
  static_cast<void>(read_exif(block));
  const Bytes copy = rewrite_exif(block, {100, 50, true, true});
  require(copy.size() <= block.size());
  if (copy.empty()) return;
  require(read_exif(copy).has_value());
  require(!find_picture(copy));
}

void check_mpf(ByteSpan bytes) {
  const MpfIndex index = read_mpf(bytes, 0, bytes);
  std::size_t total = 0;
  for (std::size_t i = 0; i < index.images.size(); ++i) {
    const auto& image = index.images[i];
    require(image.offset <= bytes.size() && image.bytes <= bytes.size() - image.offset);
    if (i != 0 && image.offset != 0) total += image.bytes;
  }
  require(total <= bytes.size());
}

void check_resources(ByteSpan bytes) {
  // The first byte says where the segments part.
  const std::size_t cut = bytes.empty() ? 0 : std::min<std::size_t>(bytes[0] * 4u, bytes.size());
  ImageResources resources;
  for (const auto part : {bytes.first(cut), bytes.subspan(cut)}) {
    Bytes payload;
    append_text(payload, kPhotoshopId);
    append_bytes(payload, part);
    resources.add_segment(payload);
  }
  require(resources.copyright().size() <= bytes.size() + 16);
  for (const bool profile : {false, true}) {
    require(resources.without_pictures(profile).size() <= bytes.size() + 16);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxBytes = 65'527;  // of a block in one segment
  const ByteSpan bytes(data, size);
  check_exif(bytes.first(std::min(size, kMaxBytes)));
  check_mpf(bytes);
  check_resources(bytes);
  return 0;
}
