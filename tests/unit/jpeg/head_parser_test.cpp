// Files read from a copy of their head.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <jpeg/head_parser.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <tests/support/sample_jpeg.hpp>

namespace framewire::jpeg {
namespace {

using sample::Spec;

double wave(int component, double x, double y) {
  return 128 + 60 * std::sin(x / 9 + component) + 40 * std::cos(y / 7);
}

Bytes head_of(ByteSpan bytes) {
  const auto head = bytes.first(count_head_bytes(bytes));
  return {head.begin(), head.end()};
}

std::vector<Bytes> baseline_files() {
  std::vector<Bytes> files;
  for (const auto& [h, v] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2}}) {
    files.push_back(sample::make({90, 70, JCS_YCbCr, h, v, 85}, wave));
  }
  files.push_back(sample::make({33, 9, JCS_GRAYSCALE, 1, 1, 60}, wave));
  files.push_back(sample::with_segments(
      files[0], {{marker::kCom, Bytes(3000, 'x')}, {marker::kApp1, Bytes(40, 'y')}}));
  Spec restarts{90, 70, JCS_YCbCr, 2, 2, 85};
  restarts.restart_mcus = 3;
  files.push_back(sample::make(restarts, wave));
  return files;
}

TEST(HeadParser, ReadsWhatAParserOfTheWholeFileReads) {
  for (const Bytes& bytes : baseline_files()) {
    const auto whole = parse(bytes, {}, ParseDepth::kThroughFirst);
    ASSERT_TRUE(whole);
    const Bytes head = head_of(bytes);
    ASSERT_EQ(head.size(), whole->scans.front().entropy_offset);
    const auto file = parse_head(head, bytes, {});
    ASSERT_TRUE(file);
    EXPECT_EQ(file->bytes.data(), bytes.data());
    EXPECT_EQ(file->bytes.size(), bytes.size());
    EXPECT_EQ(file->end_offset, whole->end_offset);
    EXPECT_EQ(file->truncated, whole->truncated);
    EXPECT_EQ(file->warnings.size(), whole->warnings.size());
    EXPECT_EQ(file->frame.width_px, whole->frame.width_px);
    EXPECT_EQ(file->frame.mcu_rows, whole->frame.mcu_rows);
    EXPECT_EQ(file->color_model, whole->color_model);
    ASSERT_EQ(file->scans.size(), 1u);
    EXPECT_EQ(file->scans[0].entropy_offset, whole->scans[0].entropy_offset);
    EXPECT_EQ(file->scans[0].entropy_bytes, whole->scans[0].entropy_bytes);
    ASSERT_EQ(file->markers.size(), whole->markers.size());
    EXPECT_EQ(file->markers.back().bytes, whole->markers.back().bytes);
    ASSERT_EQ(file->segments.size(), whole->segments.size());
    for (std::size_t i = 0; i < file->segments.size(); ++i) {
      EXPECT_EQ(file->segments[i].offset, whole->segments[i].offset);
      EXPECT_TRUE(std::equal(file->segments[i].payload.begin(), file->segments[i].payload.end(),
                             whole->segments[i].payload.begin(), whole->segments[i].payload.end()));
      EXPECT_GE(file->segments[i].payload.data(), head.data());
      EXPECT_LE(file->segments[i].payload.data(), head.data() + head.size());
    }
  }
}

TEST(HeadParser, LeavesToOthersWhatTheHeadIsNotEnoughFor) {
  const Bytes plain = baseline_files()[0];
  Spec progressive{90, 70, JCS_YCbCr, 2, 2, 85};
  progressive.progressive = true;
  const Bytes index = make_mpf(24, plain.size(), 100);
  std::vector<Bytes> files = {sample::make(progressive, wave),
                              sample::with_segments(plain, {{marker::kApp2, index}})};
  Bytes no_frame = plain;
  for (std::size_t i = 0; i + 1 < no_frame.size(); ++i) {
    if (no_frame[i] == 0xFF && no_frame[i + 1] == marker::kSof0) no_frame[i + 1] = marker::kCom;
  }
  files.push_back(no_frame);
  for (const Bytes& bytes : files) EXPECT_FALSE(parse_head(head_of(bytes), bytes, {}));
  const Bytes head = head_of(plain);
  EXPECT_TRUE(parse_head(head, plain, {}));
  EXPECT_FALSE(parse_head(ByteSpan(head).first(head.size() - 1), plain, {}));
  EXPECT_FALSE(parse_head(head, ByteSpan(plain).first(head.size() - 1), {}));
  Limits small;
  small.max_input_bytes = plain.size() - 1;
  EXPECT_FALSE(parse_head(head, plain, small));
}

TEST(HeadParser, FindsNoHeadWhereThereIsNone) {
  EXPECT_EQ(count_head_bytes({}), 0u);
  const Bytes plain = baseline_files()[0];
  const std::size_t head = count_head_bytes(plain);
  for (std::size_t bytes = 0; bytes < head; ++bytes) {
    ASSERT_EQ(count_head_bytes(ByteSpan(plain).first(bytes)), 0u) << bytes;
  }
  EXPECT_EQ(count_head_bytes(ByteSpan(plain).first(head)), head);
  EXPECT_EQ(count_head_bytes(Bytes{0xFF, 0xD8, 0xFF, 0xD9}), 0u);
}

TEST(HeadParserAttack, NothingOfTheFileItselfIsRead) {
  const Bytes plain = baseline_files()[4];
  const Bytes head = head_of(plain);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (plain.size() + page - 1) / page * page;
  void* mapped =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // reading it kills
  ASSERT_NE(mapped, MAP_FAILED);
  const auto file = parse_head(head, {static_cast<const std::uint8_t*>(mapped), plain.size()}, {});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->scans[0].entropy_bytes, plain.size() - head.size());
  ::munmap(mapped, bytes);
}

}  // namespace
}  // namespace framewire::jpeg
