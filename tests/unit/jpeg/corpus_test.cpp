// Every file of the corpus through the parser, with libjpeg as the judge.
#include <gtest/gtest.h>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <jpeg/head.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <tests/unit/jpeg/libjpeg.hpp>

namespace framewire::jpeg {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> read_all(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string judged_name(J_COLOR_SPACE color) {
  switch (color) {
    case JCS_GRAYSCALE:
      return "gray";
    case JCS_RGB:
      return "RGB";
    case JCS_YCbCr:
      return "YCbCr";
    case JCS_CMYK:
      return "CMYK";
    case JCS_YCCK:
      return "YCCK";
    default:
      return "unknown";
  }
}

class JpegCorpus : public testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("FRAMEWIRE_CORPUS");
    if (root == nullptr || !fs::is_directory(root)) {
      GTEST_SKIP() << "FRAMEWIRE_CORPUS names no folder: the corpus is not read";
    }
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file() && entry.path().extension() != ".md") {
        files_.push_back(entry.path());
      }
    }
    ASSERT_FALSE(files_.empty());
  }
  std::vector<fs::path> files_;
};

TEST_F(JpegCorpus, EveryFileParsesAsLibjpegReadsItOrFailsWithATypedError) {
  int supported = 0;
  for (const auto& path : files_) {
    SCOPED_TRACE(path.string());
    const auto bytes = read_all(path);
    const std::clock_t start = std::clock();  // of this process alone
    const auto file = parse(bytes, {});
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
    if (!file) {
      EXPECT_NE(file.error().code(), StatusCode::kInternal);
      EXPECT_FALSE(file.error().message().empty());
      continue;
    }
    if (!check_supported(*file)) continue;
    ++supported;
    judge::Verdict verdict;
    judge::judge(file->bytes.first(file->end_offset), false, verdict);
    ASSERT_TRUE(verdict.header_ok) << verdict.error;
    EXPECT_EQ(file->frame.width_px, verdict.width_px);
    EXPECT_EQ(file->frame.height_px, verdict.height_px);
    EXPECT_EQ(color_model_name(file->color_model), judged_name(verdict.color));
    for (const auto metadata : {Metadata::kStrip, Metadata::kCopyright, Metadata::kKeep}) {
      EXPECT_TRUE(make_head(*file, metadata, {.width_px = 10, .height_px = 10, .icc = file->icc}));
    }
  }
  EXPECT_GT(supported, static_cast<int>(files_.size()) / 4);
}

TEST_F(JpegCorpus, WhatLibjpegDecodesIsNotRefused) {
  constexpr std::int64_t kSmall = 1 << 16;  // decoding larger files takes long and shows no more
  Limits limits;  // limits are a choice of ours, which libjpeg does not share
  limits.max_scans = 100'000;
  limits.max_scan_pixels = UINT64_MAX;
  int decoded = 0;
  int refused = 0;
  for (const auto& path : files_) {
    SCOPED_TRACE(path.string());
    const auto bytes = read_all(path);
    judge::Verdict header;
    judge::judge(bytes, false, header);
    if (!header.header_ok || header.color == JCS_UNKNOWN ||
        std::int64_t{header.width_px} * header.height_px > kSmall) {
      continue;
    }
    judge::Verdict verdict;
    judge::judge(bytes, true, verdict);
    if (!verdict.decoded) continue;
    ++decoded;
    const auto file = parse(bytes, limits);
    if (file && check_supported(*file)) continue;
    // Only slots that T.81 does not have are refused though libjpeg takes them.
    ++refused;
    ASSERT_FALSE(file);
    const std::string& message = file.error().message();
    EXPECT_TRUE(message.find("arithmetic coding slot") != std::string::npos ||
                message.find("quantisation table") != std::string::npos)
        << file.error().to_string();
  }
  EXPECT_LE(refused * 20, decoded);
}

}  // namespace
}  // namespace framewire::jpeg
