#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <batch/input_file.hpp>
#include <cmath>
#include <command_line/lists.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <commands/bench/profiles.hpp>
#include <jpeg/bytes.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <string_view>

namespace framewire::app {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr unsigned kMaxProfiles = 10'000;
constexpr std::uint64_t kMaxProfileFileBytes = 16u << 20;

/// Display P3's primaries in XYZ (D50), in 16.16.
constexpr std::array<std::array<std::uint32_t, 3>, 3> kColorants{
    {{0x83DF, 0x3DBF, 0xFFFFFFBB}, {0x4ABF, 0xB137, 0x0AB9}, {0x2838, 0x110B, 0xC8B9}}};

Bytes colorant_tag(const std::array<std::uint32_t, 3>& xyz) {
  Bytes tag;
  jpeg::append_text(tag, "XYZ ");
  jpeg::append_u32(tag, 0);
  for (const std::uint32_t value : xyz) jpeg::append_u32(tag, value);
  return tag;
}

/// A tone curve as display profiles have it: 1024 entries, of another gamma for each number.
Bytes curve_tag(unsigned number) {
  constexpr std::uint32_t kEntries = 1024;
  const double gamma = 1.8 + 0.8 * number / kMaxProfiles;
  Bytes tag;
  jpeg::append_text(tag, "curv");
  jpeg::append_u32(tag, 0);
  jpeg::append_u32(tag, kEntries);
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    const double light = std::pow(i / (kEntries - 1.0), gamma);
    jpeg::append_u16(tag, static_cast<std::uint32_t>(std::lround(65535 * light)));
  }
  return tag;
}

/// A display profile of curves and a matrix (ICC.1, 8.4.3), unlike that of any other number.
Bytes make_profile(unsigned number) {
  constexpr std::array<std::string_view, 6> kNames{"rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"};
  constexpr std::size_t kHeaderBytes = 128;
  Bytes profile(8), table, data;
  jpeg::append_u32(profile, 0x02400000);
  jpeg::append_text(profile, "mntrRGB XYZ ");
  profile.resize(36);
  jpeg::append_text(profile, "acsp");
  profile.resize(kHeaderBytes);
  std::size_t offset = kHeaderBytes + 4 + 12 * kNames.size();
  jpeg::append_u32(table, static_cast<std::uint32_t>(kNames.size()));
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const Bytes tag = i < 3 ? colorant_tag(kColorants[i]) : curve_tag(number);
    jpeg::append_text(table, kNames[i]);
    jpeg::append_u32(table, static_cast<std::uint32_t>(offset));
    jpeg::append_u32(table, static_cast<std::uint32_t>(tag.size()));
    if (i < 3 || i == 5) {  // the curves share one tag's bytes
      jpeg::append_bytes(data, tag);
      offset += tag.size();
    }
  }
  jpeg::append_bytes(profile, table);
  jpeg::append_bytes(profile, data);
  Bytes size;
  jpeg::append_u32(size, static_cast<std::uint32_t>(profile.size()));
  std::copy(size.begin(), size.end(), profile.begin());
  return profile;
}

Result<Bytes> with_profile(const Bytes& jpeg, const Bytes& profile) {
  const auto file = jpeg::parse(jpeg, Limits{});
  if (!file) return fail(file.error());
  constexpr std::size_t kSoiBytes = 2;
  Bytes out(jpeg.begin(), jpeg.begin() + kSoiBytes);
  if (!jpeg::write_icc(out, profile)) {
    return fail(StatusCode::kInvalidInput, "a profile of more bytes than a JPEG can hold");
  }
  std::size_t at = kSoiBytes;
  for (const jpeg::Segment& segment : file->segments) {
    if (segment.marker != jpeg::marker::kApp2 ||
        !jpeg::starts_with(segment.payload, jpeg::kIccId)) {
      continue;
    }
    jpeg::append_bytes(out, std::span(jpeg).subspan(at, segment.offset - at));
    at = static_cast<std::size_t>(segment.payload.data() - jpeg.data()) + segment.payload.size();
  }
  jpeg::append_bytes(out, std::span(jpeg).subspan(at));
  return out;
}

}  // namespace

Result<std::vector<Bytes>> make_bench_profiles(const std::string& text) {
  std::vector<Bytes> profiles;
  if (text.empty()) return profiles;
  unsigned count = 0;
  if (parse_number(text, count)) {
    if (count == 0 || count > kMaxProfiles) {
      return misuse(
          fmt::format("--profiles: found '{}'; accepted: 1 to {}, or files joined by "
                      "commas",
                      text, kMaxProfiles));
    }
    for (unsigned i = 0; i < count; ++i) profiles.push_back(make_profile(i));
    return profiles;
  }
  for (const std::string& path : split_at_commas(text)) {
    const auto unreadable = [&path](const Status& why) {
      return misuse(fmt::format("--profiles: {}: {}", path, why.message()));
    };
    const auto file = batch::InputFile::open(path);
    if (!file) return unreadable(file.error());
    auto bytes = file->read(kMaxProfileFileBytes);
    if (!bytes) return unreadable(bytes.error());
    profiles.push_back(std::move(*bytes));
  }
  return profiles;
}

Result<void> give_profiles(const std::vector<Bytes>& profiles, std::vector<BenchInput>& inputs) {
  if (profiles.empty() || inputs.empty()) return {};
  std::vector<BenchInput> given;
  const std::size_t count = std::max(profiles.size(), inputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    const BenchInput& from = inputs[i % inputs.size()];
    auto bytes = with_profile(from.bytes, profiles[i % profiles.size()]);
    if (!bytes) return fail(Status(bytes.error()).about(from.path));
    given.push_back({from.path, std::move(*bytes)});
  }
  inputs = std::move(given);
  return {};
}

Json profiles_json(const ProfileStats& now, const ProfileStats& first) {
  return {{"kept", now.kept},
          {"bytes", now.bytes},
          {"hits", now.hits - first.hits},
          {"misses", now.misses - first.misses},
          {"prepared", now.prepared - first.prepared}};
}

std::string profiles_line(std::string_view codec, const Json& profiles) {
  const auto number = [&](const char* name) { return profiles[name].get<std::uint64_t>(); };
  if (number("hits") + number("misses") == 0) return {};
  return fmt::format("{:<10} profiles: {} kept in {} KB; {} found, {} read, {} tables made\n",
                     codec, number("kept"), number("bytes") >> 10, number("hits"), number("misses"),
                     number("prepared"));
}

}  // namespace framewire::app
