// Files from elsewhere: the folder named by FRAMEWIRE_CORPUS, skipped where it is not set.
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/reference/coefficients.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <jpeg/parser.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>

namespace framewire::conformance {
namespace {

namespace fs = std::filesystem;

/// Larger files are left to the benches.
constexpr std::uintmax_t kLargestFile = 600'000;

std::vector<fs::path> corpus_files(const std::string& folder) {
  std::vector<fs::path> files;
  const char* root = std::getenv("FRAMEWIRE_CORPUS");
  if (root == nullptr) return files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
    if (entry.is_regular_file() && entry.file_size() <= kLargestFile) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::uint8_t> read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Limits small_limits() {
  Limits limits;
  limits.max_input_pixels = 4'000'000;
  limits.max_scan_pixels = 20'000'000;
  return limits;
}

/// @return whether both decoded, and so were compared
bool compare(const std::vector<std::uint8_t>& bytes) {
  auto file = jpeg::parse(bytes, small_limits());
  if (!file || !jpeg::check_supported(*file)) return false;
  const auto found = codec::reference::decode_coefficients(*file, {});
  const auto expected = libjpeg_coefficients(bytes);
  if (!found || !expected || found->components.size() != expected->components.size()) return false;
  for (std::size_t i = 0; i < expected->components.size(); ++i) {
    EXPECT_TRUE(found->components[i].blocks == expected->components[i].blocks) << "component " << i;
  }
  return true;
}

TEST(Corpus, SoundFilesGiveLibjpegsCoefficients) {
  const auto files = corpus_files("features");
  if (files.empty()) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  int compared = 0;
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.filename());
    compared += compare(read(path)) ? 1 : 0;
  }
  EXPECT_GT(compared, 50);
}

TEST(Corpus, HostileFilesGivePlanesOrATypedError) {
  const auto files = corpus_files("hostile");
  if (files.empty()) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  for (const CodecEntry& entry : all_codecs()) {
    SCOPED_TRACE(entry.name);
    const auto codec = entry.make();
    int decoded = 0;
    for (const fs::path& path : files) {
      SCOPED_TRACE(path.filename());
      const auto bytes = read(path);
      auto file = jpeg::parse(bytes, small_limits());
      if (!file || !jpeg::check_supported(*file)) continue;
      codec::Context context;
      context.deadline = base::Deadline(5000);
      codec::CodecOutcome outcome;
      auto planes = codec->decode(*file, plan::kFullScale, context, outcome);
      if (!planes) {
        EXPECT_NE(planes.error().code(), StatusCode::kInternal) << planes.error().to_string();
        EXPECT_NE(planes.error().code(), StatusCode::kDeadline);
        continue;
      }
      ++decoded;
      for (std::size_t i = 0; i < planes->planes.size(); ++i) {
        EXPECT_EQ(planes->planes[i].width_px, file->frame.components[i].width_px);
        EXPECT_EQ(planes->planes[i].height_px, file->frame.components[i].height_px);
      }
    }
    EXPECT_GT(decoded, 100);
  }
}

}  // namespace
}  // namespace framewire::conformance
