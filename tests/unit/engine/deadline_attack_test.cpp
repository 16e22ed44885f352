// Files at the size limit, made to keep each loop of parsing busy as long as can be: whatever the
// deadline, a request ends soon after it, with an error that says so, and memory stays bounded.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <algorithm>
#include <cctype>
#include <ctime>
#include <framewire/resizer.hpp>
#include <functional>
#include <jpeg/exif.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/iptc.hpp>
#include <string>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/slower.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tuple>

namespace framewire {
namespace {

using jpeg::Bytes;
using test::kMoreMemory;
using test::kSlower;
namespace marker = jpeg::marker;

const std::size_t kLimit = Limits{}.max_input_bytes;

long peak_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

const Bytes& picture() {
  static const Bytes bytes =
      sample::make({64, 48}, [](int c, double x, double y) { return 128 + 40 * c + x / 2 - y; });
  return bytes;
}

/// The picture with `unit` repeated behind its SOI up to the size limit.
Bytes stuffed(const Bytes& unit, const Bytes& image = picture()) {
  Bytes out(image.begin(), image.begin() + 2);
  out.reserve(kLimit);
  while (out.size() + unit.size() + image.size() <= kLimit) jpeg::append_bytes(out, unit);
  out.insert(out.end(), image.begin() + 2, image.end());
  return out;
}

Bytes segment(std::uint8_t code, const Bytes& payload) {
  Bytes out;
  jpeg::write_segment(out, code, payload);
  return out;
}

Bytes text(std::string_view value, std::size_t bytes = 0) {
  Bytes out(value.begin(), value.end());
  if (bytes != 0) out.resize(bytes);
  return out;
}

/// As many tables as a segment holds.
Bytes tables(std::uint8_t code, const Bytes& one) {
  Bytes payload;
  while (payload.size() + one.size() <= 65'533) jpeg::append_bytes(payload, one);
  return segment(code, payload);
}

/// One caption over all segments that metadata may have, of datasets without bytes.
Bytes caption_of_datasets() {
  constexpr std::uint32_t kBytes = 20u << 20;
  Bytes resource{'8', 'B', 'I', 'M', 4, 4, 0, 0};
  jpeg::append_u32(resource, kBytes);
  while (resource.size() < kBytes) jpeg::append_bytes(resource, Bytes{0x1C, 2, 25, 0, 0});
  Bytes out(picture().begin(), picture().begin() + 2);
  jpeg::write_image_resources(out, resource);
  out.insert(out.end(), picture().begin() + 2, picture().end());
  return out;
}

/// EXIF whose directory fills a segment; no entry of it makes sense.
Bytes wide_exif() {
  Bytes payload = text(jpeg::kExifId);
  jpeg::append_text(payload, "MM");
  jpeg::append_u16(payload, 42);
  jpeg::append_u32(payload, 8);
  jpeg::append_u16(payload, 5458);
  for (int i = 0; i < 5458; ++i) {
    for (const std::uint32_t word : {0x00010003u, 1u, 0u}) jpeg::append_u32(payload, word);
  }
  payload[6 + 2 + 1] = 42;
  return segment(marker::kApp1, payload);
}

/// The same, but its first directory lies nowhere: every such segment is tried.
Bytes exif_without_directory() {
  Bytes payload = text(jpeg::kExifId);
  jpeg::append_text(payload, "MM");
  jpeg::append_u16(payload, 42);
  jpeg::append_u32(payload, 0xFFFFFFFF);
  return segment(marker::kApp1, payload);
}

/// The picture with its scan's data replaced, up to the limit.
Bytes scan_of(const Bytes& unit) {
  const Bytes& image = picture();
  const Bytes sos{0xFF, marker::kSos};
  const auto at = std::search(image.begin(), image.end(), sos.begin(), sos.end());
  const auto data =
      at + 2 + jpeg::read_u16(image, static_cast<std::size_t>(at - image.begin()) + 2);
  Bytes out(image.begin(), data);
  out.reserve(kLimit);
  while (out.size() + unit.size() + 2 <= kLimit) jpeg::append_bytes(out, unit);
  out.insert(out.end(), {0xFF, marker::kEoi});
  return out;
}

/// A progressive file of one large gray picture, of which every scan refines the same band by
/// nothing: a pass over all blocks for some bytes.
Bytes many_scans(std::int32_t side, std::size_t scans) {
  Bytes out = jpeg::tiny::head();
  jpeg::tiny::write_standard_tables(out);
  jpeg::FrameSpec frame;
  frame.marker = 0xC2;
  frame.width_px = frame.height_px = side;
  frame.component_count = 1;
  jpeg::write_sof(out, frame);
  for (std::size_t i = 0; i < scans; ++i) {
    jpeg::append_bytes(out, Bytes{0xFF, marker::kSos, 0, 8, 1, 1, 0, std::uint8_t(i == 0 ? 0 : 1),
                                  std::uint8_t(i == 0 ? 0 : 63), 0, 0});
  }
  jpeg::write_marker(out, marker::kEoi);
  return out;
}

struct Attack {
  const char* name;
  std::function<Bytes()> make;
};

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> all = {
      {"markers without segments",
       [] {
         return stuffed({0xFF, marker::kTem});
       }},
      {"restart markers in the head",
       [] {
         return stuffed({0xFF, marker::kRst0});
       }},
      {"bytes of no segment",
       [] {
         return stuffed({0xFF, 0x00});
       }},
      {"fill bytes", [] { return stuffed({0xFF}); }},
      {"empty comments", [] { return stuffed(segment(marker::kCom, {})); }},
      {"comments of 65,535 bytes", [] { return stuffed(segment(marker::kCom, Bytes(65'533))); }},
      {"comments too short for their length",
       [] {
         return stuffed({0xFF, marker::kCom, 0, 0});
       }},
      {"empty quantiser segments", [] { return stuffed(segment(marker::kDqt, {})); }},
      {"the same quantiser",
       [] {
         return stuffed(tables(marker::kDqt, [] {
           Bytes t(65, 1);
           t[0] = 0;
           return t;
         }()));
       }},
      {"empty Huffman segments", [] { return stuffed(segment(marker::kDht, {})); }},
      {"the same Huffman table", [] { return stuffed(tables(marker::kDht, Bytes(17))); }},
      {"conditioning",
       [] {
         return stuffed(tables(marker::kDac, {0x10, 5}));
       }},
      {"restart intervals",
       [] {
         return stuffed(segment(marker::kDri, {0, 0}));
       }},
      {"the same ICC segment",
       [] {
         return stuffed(segment(marker::kApp2, [] {
           Bytes payload = text(jpeg::kIccId);
           jpeg::append_bytes(payload, Bytes{1, 255, 0});
           return payload;
         }()));
       }},
      {"ICC segments 1 to 255, again and again",
       [] {
         Bytes unit;
         for (int i = 1; i <= 255; ++i) {
           Bytes payload = text(jpeg::kIccId);
           jpeg::append_bytes(payload, Bytes{static_cast<std::uint8_t>(i), 255});
           payload.resize(2000);
           jpeg::append_bytes(unit, segment(marker::kApp2, payload));
         }
         return stuffed(unit);
       }},
      {"EXIF of 5,458 entries", [] { return stuffed(wide_exif()); }},
      {"EXIF without directory", [] { return stuffed(exif_without_directory()); }},
      {"Photoshop resources",
       [] {
         Bytes payload = text("Photoshop 3.0\0");
         payload.push_back(0);
         while (payload.size() + 12 <= 65'533) {
           jpeg::append_bytes(payload, Bytes{'8', 'B', 'I', 'M', 4, 4, 0, 0, 0, 0, 0, 0});
         }
         return stuffed(segment(marker::kApp13, payload));
       }},
      {"a caption of datasets", [] { return caption_of_datasets(); }},
      {"stuffed bytes in a scan",
       [] {
         return scan_of({0xFF, 0x00});
       }},
      {"restart markers in a scan",
       [] {
         return scan_of({0xFF, marker::kRst0});
       }},
      {"fill bytes in a scan",
       [] {
         return scan_of({0xFF, 0xFF});
       }},
      {"reserved markers in a scan",
       [] {
         return scan_of({0xFF, 0x02});
       }},
      {"zeros in a scan", [] { return scan_of({0x00}); }},
      {"100 scans of nothing", [] { return many_scans(3'000, 100); }},
      {"10,000 scans", [] { return many_scans(64, 10'000); }},
  };
  return all;
}

using Case = std::tuple<CodecKind, std::size_t>;
class DeadlineAttack : public testing::TestWithParam<Case> {};

TEST_P(DeadlineAttack, EveryLoopOverAFileLooksAtTheTime) {
  const auto& [codec, attack] = GetParam();
  const auto& [name, make] = attacks()[attack];
  const Resizer resizer;
  const Bytes file = make();
  ASSERT_LE(file.size(), kLimit);
  for (const std::uint32_t deadline_ms : {1u, 40u, 160u}) {
    ResizeOptions options;
    options.width_px = 32;
    options.codec = codec;
    options.metadata = Metadata::kKeep;
    options.limits.deadline_ms = deadline_ms;
    malloc_trim(0);
    const long before_kb = peak_kb();
    const std::clock_t start = std::clock();
    const auto resized = resizer.resize(file, options);
    // Processor time, which never exceeds the clock's: so the bound holds on a busy machine too.
    const double ms = static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
    const std::string what = resized ? "done" : std::string(to_string(resized.error().code()));
    std::printf("%-40s %4u ms: %6.1f ms, %s\n", name, deadline_ms, ms, what.c_str());
    EXPECT_LT(ms, deadline_ms + 100 * kSlower) << what;
    EXPECT_LT(peak_kb() - before_kb, 65'536 * kMoreMemory);
    EXPECT_TRUE(resized || resized.error().code() != StatusCode::kInternal);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& which) {
  const auto& [codec, attack] = which.param;
  std::string name = fmt::format("{}_{}", to_string(codec), attacks()[attack].name);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Codecs, DeadlineAttack,
                         testing::Combine(testing::Values(CodecKind::kTurbo, CodecKind::kReference),
                                          testing::Range(std::size_t{0}, attacks().size())),
                         name_of);

}  // namespace
}  // namespace framewire
