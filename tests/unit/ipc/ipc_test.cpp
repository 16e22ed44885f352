// What the two ends of a local connection share: areas, reports, options, rings.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <framewire/batch.hpp>
#include <ipc/answer.hpp>
#include <ipc/area_allocator.hpp>
#include <ipc/entries.hpp>
#include <ipc/greeting.hpp>
#include <ipc/layout.hpp>
#include <ipc/options_text.hpp>
#include <ipc/ring.hpp>
#include <map>
#include <random>
#include <vector>

namespace framewire::ipc {
namespace {

TEST(AreaAllocator, PiecesNeverOverlapAndAllOfItComesBack) {
  constexpr std::uint64_t kArea = 64 * 1024;
  AreaAllocator area(kArea, 100);
  std::mt19937 random(1);
  std::map<std::uint64_t, std::uint64_t> given;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = random() % 3000;
      const auto offset = area.take(bytes);
      if (!offset) continue;
      ASSERT_LE(*offset + bytes, kArea);
      const auto behind = given.lower_bound(*offset);
      if (behind != given.end()) {
        ASSERT_LE(*offset + bytes, behind->first);
      }
      if (behind != given.begin()) {
        const auto before = std::prev(behind);
        ASSERT_LE(before->first + before->second, *offset);
      }
      given[*offset] = bytes;
      ASSERT_LE(given.size(), 100u);
    } else if (!given.empty()) {
      const auto piece = std::next(given.begin(), static_cast<long>(random() % given.size()));
      ASSERT_TRUE(area.give_back(piece->first));
      given.erase(piece);
    }
  }
  for (const auto& [offset, bytes] : given) ASSERT_TRUE(area.give_back(offset));
  EXPECT_EQ(area.free_bytes(), kArea);
  EXPECT_EQ(area.take(kArea), 0u);
  EXPECT_FALSE(area.take(1));
}

TEST(AreaAllocator, WhatWasNotTakenCannotBeGivenBack) {
  AreaAllocator area(4096, 4);
  const auto offset = area.take(100).value();
  EXPECT_FALSE(area.give_back(offset + 64));
  EXPECT_TRUE(area.give_back(offset));
  EXPECT_FALSE(area.give_back(offset));
  EXPECT_FALSE(area.take(4097));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(area.take(0));
  EXPECT_FALSE(area.take(0)) << "more pieces than the books have";
}

Report full_report() {
  Report report;
  report.input = {4000, 3000, 123456789012, 3, "2x2,1x2,1x1", "progressive"};
  report.output = {480, 360, 30000, 1, "gray", "baseline"};
  report.codec = CodecKind::kCuda;
  report.codec_reason = "requested";
  report.decode_scale = 2;
  report.quality = 77;
  report.color_converted = report.gain_map_kept = report.original_kept = true;
  report.assumed_profile = "Adobe RGB";
  report.times = {1.5, 2.25, 3, 1e9};
  report.warnings = {{WarningKind::kTruncated, "ends early", 17},
                     {WarningKind::kMaxBytesMissed, "", std::nullopt}};
  return report;
}

TEST(Answer, AReportComesBackWhole) {
  std::array<std::byte, kReportBytes> memory;
  const Report report = full_report();
  const auto bytes = write_report(report, memory);
  const auto back = read_report(std::span(memory).first(bytes)).value();
  EXPECT_EQ(back.input.bytes, report.input.bytes);
  EXPECT_EQ(back.input.sampling, report.input.sampling);
  EXPECT_EQ(back.output.width_px, 480);
  EXPECT_EQ(back.output.process, "baseline");
  EXPECT_EQ(back.codec, CodecKind::kCuda);
  EXPECT_EQ(back.codec_reason, "requested");
  EXPECT_EQ(back.decode_scale, 2);
  EXPECT_EQ(back.quality, 77);
  EXPECT_TRUE(back.color_converted && back.gain_map_kept && back.original_kept);
  EXPECT_EQ(back.assumed_profile, "Adobe RGB");
  EXPECT_EQ(back.times.encode_us, 3);
  EXPECT_EQ(back.times.total_us, 1e9);
  ASSERT_EQ(back.warnings.size(), 2u);
  EXPECT_EQ(back.warnings[0].message, "ends early");
  EXPECT_EQ(back.warnings[0].offset, 17u);
  EXPECT_EQ(back.warnings[1].kind, WarningKind::kMaxBytesMissed);
  EXPECT_FALSE(back.warnings[1].offset);
}

TEST(Answer, BytesThatAreCutOrChangedAreNoReport) {
  std::array<std::byte, kReportBytes> memory;
  const auto bytes = write_report(full_report(), memory);
  for (std::size_t i = 0; i < bytes; ++i) {
    EXPECT_FALSE(read_report(std::span(memory).first(i))) << i;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = memory;
    for (int k = 0; k < 3; ++k) damaged[random() % bytes] = static_cast<std::byte>(random());
    if (const auto read = read_report(std::span(damaged).first(bytes))) {
      EXPECT_LE(read->codec, CodecKind::kNvjpeg);
      for (const Warning& w : read->warnings) EXPECT_LE(w.kind, WarningKind::kMaxBytesMissed);
    }
  }
}

TEST(Answer, WarningsForWhichThereIsNoRoomAreLeftOut) {
  Report report = full_report();
  report.warnings.assign(500, {WarningKind::kCorruptData, std::string(2000, 'x'), 1});
  std::array<std::byte, kReportBytes> memory;
  const auto bytes = write_report(report, memory);
  const auto back = read_report(std::span(memory).first(bytes)).value();
  EXPECT_EQ(back.warnings.size(), 15u);
  EXPECT_EQ(back.warnings[0].message, std::string(1024, 'x'));
}

TEST(Answer, AnErrorComesBackWhole) {
  std::array<std::byte, kReportBytes> memory;
  const auto through = [&](const Status& status) {
    const auto bytes = write_error(status, memory);
    for (std::size_t i = 0; i < bytes; ++i) EXPECT_FALSE(read_error(std::span(memory).first(i)));
    return read_error(std::span(memory).first(bytes)).value();
  };
  const Status whole =
      through(Status(StatusCode::kTooLarge, "too many").about("max-input-pixels").at(9));
  EXPECT_EQ(whole.to_string(),
            Status(StatusCode::kTooLarge, "too many").about("max-input-pixels").at(9).to_string());
  const Status bare = through(Status(StatusCode::kCancelled, "no"));
  EXPECT_EQ(bare.code(), StatusCode::kCancelled);
  EXPECT_FALSE(bare.offset());
}

TEST(Answer, AnErrorOfNoKnownCodeIsNone) {
  std::array<std::byte, kReportBytes> memory;
  const auto bytes = write_error({StatusCode::kBusy, "not now"}, memory);
  const auto with = [&](std::uint32_t code) {
    std::memcpy(memory.data(), &code, sizeof code);
    return read_error(std::span(memory).first(bytes)).has_value();
  };
  EXPECT_TRUE(with(number_of(StatusCode::kInvalidInput)));
  EXPECT_TRUE(with(number_of(StatusCode::kCancelled)));
  for (const std::uint32_t code : {0U, number_of(StatusCode::kCancelled) + 1, UINT32_MAX}) {
    EXPECT_FALSE(with(code)) << code;
  }
}

/// Options of which as many as can be are not the default, with long texts.
ResizeOptions long_options() {
  ResizeOptions options;
  const std::map<std::string_view, std::string_view> values = {
      {"size", "65499x65499"},
      {"crop", "65499x65499"},
      {"dpr", "1.2345678901234567"},
      {"sharpen", "1.2345678901234567"},
      {"gravity", "fp:0.12345678901234567:0.12345678901234567"},
      {"quality", "99"},
      {"restart-interval", "65534"},
      {"background", "a1b2c3"},
      {"max-bytes", "18446744073709551"}};
  for (const OptionSpec& spec : option_specs()) {
    std::string value;
    if (const auto given = values.find(spec.name); given != values.end()) {
      value = given->second;
    } else if (!spec.choices.empty()) {
      value = spec.choices.substr(spec.choices.rfind('|') + 1);
    } else if (spec.metavar.empty()) {
      value = "true";
    } else {
      value = "12345";
    }
    (void)set_option(options, spec.name, value);
  }
  return options;
}

TEST(OptionsText, OptionsComeBackFromTheirText) {
  const ResizeOptions options = long_options();
  const std::string text = to_string(options);
  EXPECT_GE(std::ranges::count(text, '='), 20);
  EXPECT_LE(text.size(), kMaxOptionsBytes);
  const auto back = parse_options(text);
  ASSERT_TRUE(back) << back.error().to_string() << " in " << text;
  EXPECT_TRUE(same_options(*back, options));
  EXPECT_EQ(to_string(*back), text);
  EXPECT_FALSE(same_options(*back, {}));
  EXPECT_TRUE(same_options(parse_options("").value(), {}));
}

TEST(OptionsText, EachOptionTellsTwoApart) {
  const ResizeOptions all = long_options();
  const std::string text = to_string(all);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string without = text;
    without.erase(at, end - at + 1);
    const auto fewer = parse_options(without);
    ASSERT_TRUE(fewer) << without;
    EXPECT_FALSE(same_options(*fewer, all)) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Ring, ALieAboutTheIndexIsNoticed) {
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> read{0};
  std::array<RingMemory<CompletionEntry>::Words, 4> words{};
  const RingMemory<CompletionEntry> memory{&written, &read, words.data(), words.size()};
  RingWriter<CompletionEntry> writer(memory);
  RingReader<CompletionEntry> reader(memory);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(writer.push({i, 1, 2, 3, 4, 0}));
  EXPECT_FALSE(writer.push({}));
  EXPECT_EQ(reader.available(), 0u);
  writer.publish();
  EXPECT_EQ(reader.available(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(reader.take().slot, i);
  EXPECT_EQ(writer.unread(), 4u);
  reader.give_back();
  EXPECT_EQ(writer.unread(), 0u);
  read = 9;
  EXPECT_FALSE(writer.unread());
  EXPECT_FALSE(writer.push({}));
  written = 3;
  EXPECT_FALSE(reader.available());
  written = UINT64_MAX;
  EXPECT_FALSE(reader.available());
}

TEST(Layout, SizesThatCannotBeAreRefused) {
  EXPECT_TRUE(Layout::make({kMaxSlots, kMaxAreaBytes, kMaxAreaBytes}));
  const auto small = Layout::make({1, kPageBytes, kPageBytes}).value();
  EXPECT_LE(small.input + kPageBytes + kInputGuardBytes, small.output);
  EXPECT_EQ(small.output + kPageBytes, small.total);
  for (const AreaSizes& wrong :
       {AreaSizes{0, 4096, 4096}, AreaSizes{kMaxSlots + 1, 4096, 4096}, AreaSizes{1, 0, 4096},
        AreaSizes{1, 4096, 4095}, AreaSizes{1, UINT64_MAX, 4096},
        AreaSizes{1, 4096, kMaxAreaBytes + 4096}}) {
    EXPECT_FALSE(Layout::make(wrong));
  }
}

}  // namespace
}  // namespace framewire::ipc
