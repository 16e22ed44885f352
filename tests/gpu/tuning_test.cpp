// What can be set without a build: wrong settings are refused, and right ones change no byte.
#include <gtest/gtest.h>
#include <codec/cuda/transcoder.hpp>
#include <codec/cuda/tuning.hpp>
#include <string>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::Item;
using codec::cuda::Transcoder;
using codec::cuda::tune;
using codec::cuda::Tuning;

TEST(Tuning, SetsWhatItNames) {
  Tuning tuning;
  ASSERT_TRUE(tune(tuning, "small_subsequence_bytes=256"));
  EXPECT_EQ(tuning.small_subsequence_bytes, 256U);
  ASSERT_TRUE(tune(tuning, "warm_bits=0"));
  EXPECT_EQ(tuning.warm_bits, 0U);
}

TEST(Tuning, NamesWhatWouldDo) {
  Tuning tuning;
  for (const char* wrong :
       {"", "warm_bits", "warm_bits=", "warm_bits=x", "warm_bits=-1", "warm_bits=4294967296",
        "warmbits=1", "=1", "small_subsequence_bytes=100", "small_subsequence_bytes=1024"}) {
    const auto set = tune(tuning, wrong);
    ASSERT_FALSE(set) << wrong;
    EXPECT_EQ(set.error().code(), StatusCode::kInvalidInput) << wrong;
  }
  EXPECT_NE(tune(tuning, "warmbits=1").error().message().find("warm_bits"), std::string::npos);
  EXPECT_NE(tune(tuning, "small_subsequence_bytes=1024").error().message().find("512"),
            std::string::npos);
}

class TuningOnGpu : public GpuTest {};

TEST_F(TuningOnGpu, ChangesNoByte) {
  sample::Spec spec;
  spec.width_px = 200;
  spec.height_px = 150;
  spec.h = spec.v = 2;
  const OwnedItem owned(draw(spec), resize_to(60, 40));
  const std::vector<Item> items(3, owned.item);
  std::vector<std::uint8_t> expected;
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"tiny_batch_bytes=0"},
        {"small_batch_bytes=0", "tiny_batch_bytes=0"},
        {"tiny_subsequence_bytes=16", "tiny_warm_bits=256"},
        {"many_scans=0"},
        {"lone_images=5", "lone_subsequence_bytes=48"}}) {
    Tuning tuning;
    for (const std::string& setting : settings) ASSERT_TRUE(tune(tuning, setting)) << setting;
    Transcoder transcoder = value_of(Transcoder::make(false, tuning));
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    ASSERT_EQ(transcoder.result(2).status, 0U);
    const auto written = transcoder.result(2).bytes;
    const std::vector<std::uint8_t> bytes(written.begin(), written.end());
    if (expected.empty()) expected = bytes;
    EXPECT_EQ(bytes, expected) << (settings.empty() ? "" : settings[0]);
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
