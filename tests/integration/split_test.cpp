// Pictures resized in stripes by several workers are those of the plain resizer, byte for byte.
#include <gtest/gtest.h>
#include <framewire/resizer.hpp>
#include <future>
#include <split/splitter.hpp>
#include <tests/conformance/cases.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/conformance/wishes.hpp>

namespace framewire::split {
namespace {

using conformance::all_layouts;
using conformance::coding;
using conformance::make_jpeg;

std::future<Result<SplitOutput>> submit(Splitter& splitter, std::vector<std::uint8_t> jpeg,
                                        const ResizeOptions& options) {
  auto promise = std::make_shared<std::promise<Result<SplitOutput>>>();
  auto future = promise->get_future();
  splitter.submit(std::move(jpeg), options,
                  [promise](Result<SplitOutput> result) { promise->set_value(std::move(result)); });
  return future;
}

std::vector<std::uint8_t> sample() {
  return make_jpeg({all_layouts().front(), coding("baseline"), 250, 131, 90, 0, 4});
}

class Split : public testing::TestWithParam<int> {};

TEST_P(Split, GivesTheResizersBytes) {
  const Resizer resizer;
  const auto made = Splitter::make(static_cast<std::size_t>(GetParam()), 4);
  ASSERT_TRUE(made);
  Splitter& splitter = **made;
  struct Expected {
    std::string name;
    std::vector<std::uint8_t> bytes;
    std::future<Result<SplitOutput>> answer;
  };
  std::vector<Expected> all;
  // Every layout in every wish is the stages' own test; here their samples travel.
  for (std::size_t i = 0; i < all_layouts().size(); i += 4) {
    const auto& layout = all_layouts()[i];
    const auto bytes = make_jpeg({layout, coding("baseline"), 250, 131, 90, 0, 4});
    for (const auto& wish : conformance::all_wishes()) {
      const auto plain = resizer.resize(bytes, wish.options);
      ASSERT_TRUE(plain) << plain.error().to_string();
      all.push_back(
          {layout.name + " " + wish.name, plain->bytes, submit(splitter, bytes, wish.options)});
    }
  }
  for (Expected& one : all) {
    const auto split = one.answer.get();
    ASSERT_TRUE(split) << one.name << ": " << split.error().to_string();
    EXPECT_EQ(split->resized.bytes, one.bytes) << one.name;
  }
  splitter.drain();
  for (const DeviceReport& device : splitter.report()) {
    EXPECT_FALSE(device.lost);
    EXPECT_GT(device.stripes, 0U);
    EXPECT_GT(device.bytes_in, device.stripes);
    EXPECT_GT(device.bytes_out, device.stripes);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, Split, testing::Values(1, 2, 5));

TEST(SplitFailures, ABadPictureHarmsNoOther) {
  const auto made = Splitter::make(2, 3);
  ASSERT_TRUE(made);
  Splitter& splitter = **made;
  const auto options = conformance::sized(60, 30);
  auto good = submit(splitter, sample(), options);
  auto bad = submit(splitter, {0xFF, 0xD8, 0xFF}, options);
  auto nonsense = submit(splitter, {}, options);
  auto next = submit(splitter, sample(), options);
  EXPECT_TRUE(good.get());
  EXPECT_EQ(bad.get().error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(nonsense.get().error().code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(next.get());
}

TEST(SplitFailures, ALostWorkerIsNamedAndTheOthersGoOn) {
  const auto made = Splitter::make(3, 2);
  ASSERT_TRUE(made);
  Splitter& splitter = **made;
  const auto options = conformance::sized(60, 30);
  const auto expected = Resizer().resize(sample(), options)->bytes;
  EXPECT_EQ(submit(splitter, sample(), options).get()->resized.bytes, expected);
  splitter.cut(1);
  // Pictures that the worker had a stripe of fail; once it is known to be gone, none does.
  for (int i = 0; i < 50; ++i) {
    const auto result = submit(splitter, sample(), options).get();
    if (result) {
      EXPECT_EQ(result->resized.bytes, expected);
    } else {
      EXPECT_EQ(result.error().code(), StatusCode::kPeerLost);
      EXPECT_NE(result.error().message().find("device 1"), std::string::npos)
          << result.error().to_string();
    }
    EXPECT_TRUE(result || i <= 5);
  }
  splitter.cut(0);
  splitter.cut(2);
  EXPECT_EQ(submit(splitter, sample(), options).get().error().code(), StatusCode::kPeerLost);
  splitter.drain();
  for (const DeviceReport& device : splitter.report()) EXPECT_TRUE(device.lost);
}

TEST(SplitPlanes, AreWhatTheStreamIsMadeOf) {
  const auto made = Splitter::make(3, 2, PictureForm::kPlanes);
  ASSERT_TRUE(made);
  Splitter& splitter = **made;
  const auto options = conformance::sized(60, 31);
  const auto result = submit(splitter, sample(), options).get();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(result->resized.bytes.empty());
  EXPECT_EQ(result->resized.report.output.width_px, 60);
  ASSERT_FALSE(result->planes.planes.empty());
  const codec::Plane& luma = result->planes.planes[0];
  EXPECT_EQ(luma.width_px, 60);
  EXPECT_EQ(luma.height_px, 31);
  // At quality 100 the stream decodes to nearly the planes.
  const auto stream = Resizer().resize(sample(), options);
  const auto decoded = conformance::libjpeg_planes(stream->bytes);
  ASSERT_TRUE(decoded);
  const auto found = conformance::distance(decoded->planes[0], luma);
  EXPECT_LE(found.largest, 2);
}

TEST(SplitFailures, NoWorkerIsRefused) {
  EXPECT_EQ(Splitter::make(0, 1).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(Splitter::make(1, 0).error().code(), StatusCode::kInvalidInput);
}

TEST(SplitFailures, APictureOfOneRowNeedsOneWorker) {
  const auto made = Splitter::make(4, 2);
  ASSERT_TRUE(made);
  Splitter& splitter = **made;
  const auto options = conformance::sized(40, 1);
  const auto result = submit(splitter, sample(), options).get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->resized.bytes, Resizer().resize(sample(), options)->bytes);
}

}  // namespace
}  // namespace framewire::split
