// What a batch promises besides its pixels: errors, bad images, memory, threads.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <framewire/tensor.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/tensors.hpp>
#include <thread>

namespace framewire {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes picture(int width, int height, bool progressive = false, double phase = 0) {
  sample::Spec spec;
  spec.width_px = width;
  spec.height_px = height;
  spec.h = spec.v = 2;
  spec.progressive = progressive;
  return sample::make(spec, [phase](int component, double x, double y) {
    return 128 + 90 * std::sin(x / (9.0 + component) + phase) * std::cos(y / 13.0);
  });
}

TEST(TensorDecoder, BadImagesBecomeZerosAndOthersGoOn) {
  const Bytes good = picture(40, 30);
  const Bytes garbage(500, 0x11);
  const Bytes cut(good.begin(), good.begin() + 100);  // ends before the scan
  TensorItem outside{good, CropBox{30, 0, 11, 5}, false};
  const TensorItem items[] = {{good, {}, false}, {garbage, {}, false}, {cut, {}, false},
                              outside,           {{}, {}, false},      {good, {}, true}};
  auto decoder = TensorDecoder::make(test::tensor_options(8, 6, 0)).value();
  Bytes batch(6 * decoder.image_bytes() + 16, 0xEE);
  std::uint8_t ok[6] = {9, 9, 9, 9, 9, 9};
  ASSERT_TRUE(decoder.decode(items, {batch.data(), batch.size(), ok}));
  const auto is_zero = [&](std::size_t i) {
    const auto* at = batch.data() + i * decoder.image_bytes();
    return std::all_of(at, at + decoder.image_bytes(), [](std::uint8_t b) { return b == 0; });
  };
  const bool expected[] = {true, false, false, false, false, true};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(ok[i], expected[i] ? 1 : 0) << i;
    EXPECT_EQ(decoder.image(i).has_value(), expected[i]) << i;
    EXPECT_EQ(is_zero(i), !expected[i]) << i;
  }
  EXPECT_TRUE(std::all_of(batch.end() - 16, batch.end(), [](std::uint8_t b) { return b == 0xEE; }));
  const Status& no_jpeg = decoder.image(1).error();
  EXPECT_EQ(no_jpeg.code(), StatusCode::kInvalidInput);
  EXPECT_EQ(no_jpeg.message().rfind("no JPEG", 0), 0u) << no_jpeg.to_string();
  EXPECT_EQ(no_jpeg.offset(), 0u);
  const Status& crop = decoder.image(3).error();
  EXPECT_EQ(crop.code(), StatusCode::kInvalidInput);
  EXPECT_EQ(crop.message().find("image 3"), std::string::npos)
      << "the caller, who asked by index, may count otherwise: " << crop.message();
  EXPECT_NE(crop.message().find("40×30"), std::string::npos) << crop.message();
  EXPECT_EQ(decoder.image(6).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(decoder.image(5)->width_px, 40);
  EXPECT_EQ(decoder.image(5)->crop, (CropBox{0, 0, 40, 30}));
}

TEST(TensorDecoder, CropsThatAreNotInsideAreRefused) {
  const Bytes jpeg = picture(20, 10);
  auto decoder = TensorDecoder::make(test::tensor_options(4, 4, 0)).value();
  Bytes batch(decoder.image_bytes());
  constexpr int kMax = std::numeric_limits<std::int32_t>::max();
  constexpr int kMin = std::numeric_limits<std::int32_t>::min();
  for (const CropBox& box :
       {CropBox{0, 0, 0, 5}, CropBox{0, 0, 5, 0}, CropBox{-1, 0, 5, 5}, CropBox{0, -1, 5, 5},
        CropBox{16, 0, 5, 5}, CropBox{0, 6, 5, 5}, CropBox{0, 0, 21, 5}, CropBox{0, 0, 5, 11},
        CropBox{kMax, 0, 5, 5}, CropBox{0, 0, kMax, kMax}, CropBox{kMin, kMin, kMin, kMin},
        CropBox{5, 5, kMax, 2}, CropBox{0, 0, -5, 5}}) {
    const TensorItem item{jpeg, box, false};
    ASSERT_TRUE(decoder.decode({&item, 1}, {batch.data(), batch.size(), nullptr}));
    ASSERT_FALSE(decoder.image(0)) << box.left_px << " " << box.width_px;
    EXPECT_EQ(decoder.image(0).error().code(), StatusCode::kInvalidInput);
  }
}

TEST(TensorDecoder, MemoryThatDoesNotFitIsRefusedBeforeAnythingIsWritten) {
  const Bytes jpeg = picture(20, 10);
  const TensorItem items[] = {{jpeg, {}, false}, {jpeg, {}, false}};
  auto decoder = TensorDecoder::make(test::tensor_options(5, 5, 0)).value();
  EXPECT_EQ(decoder.image_bytes(), 3u * 5 * 5 * 4);
  alignas(8) std::uint8_t batch[3 * 5 * 5 * 4 * 2 + 8] = {};
  const auto few = decoder.decode(items, {batch, 3 * 5 * 5 * 4 * 2 - 1, nullptr});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code(), StatusCode::kTooLarge);
  EXPECT_NE(few.error().message().find("600"), std::string::npos) << few.error().message();
  EXPECT_FALSE(decoder.image(0));
  EXPECT_EQ(decoder.decode(items, {nullptr, 600, nullptr}).error().code(),
            StatusCode::kInvalidInput);
  EXPECT_EQ(decoder.decode(items, {batch + 1, 600, nullptr}).error().code(),
            StatusCode::kInvalidInput);
  EXPECT_TRUE(std::all_of(std::begin(batch), std::end(batch), [](auto b) { return b == 0; }));
  EXPECT_TRUE(decoder.decode(items, {batch, 600, nullptr}));
  EXPECT_TRUE(decoder.decode({}, {}));
  EXPECT_FALSE(decoder.image(0));
}

TEST(TensorDecoder, OptionsAreCheckedByName) {
  const auto refused = [](const TensorOptions& options, StatusCode code, std::string_view option) {
    const auto made = TensorDecoder::make(options);
    ASSERT_FALSE(made) << option;
    EXPECT_EQ(made.error().code(), code) << option;
    EXPECT_EQ(made.error().subject(), option);
  };
  TensorOptions o;
  refused(o, StatusCode::kInvalidInput, "size");
  o = test::tensor_options(20'000, 10, 0);
  refused(o, StatusCode::kTooLarge, "size");
  o = test::tensor_options(16'000, 16'000, 0);
  refused(o, StatusCode::kTooLarge, "size");
  o = test::tensor_options(INT32_MAX, INT32_MAX, 0);  // whose bytes are more than 64 bits count
  o.limits.max_output_side_px = INT32_MAX;
  o.limits.max_output_pixels = UINT64_MAX;
  refused(o, StatusCode::kTooLarge, "size");
  o = test::tensor_options(8, 8, 0);
  o.device = 0;
  refused(o, StatusCode::kUnsupported, "device");
  o.device = -2;
  refused(o, StatusCode::kInvalidInput, "device");
  o = test::tensor_options(8, 8, 0);
  o.kernel = Kernel::kNearest;
  refused(o, StatusCode::kInvalidInput, "kernel");
  o.kernel = Kernel::kLanczos3;
  o.antialias = false;
  refused(o, StatusCode::kInvalidInput, "antialias");
  o = test::tensor_options(8, 8, 0);
  o.stddev[1] = 0;
  refused(o, StatusCode::kInvalidInput, "stddev");
  o.stddev[1] = 1;
  o.mean[2] = NAN;
  refused(o, StatusCode::kInvalidInput, "mean");
  o.mean[2] = 0.5f;
  o.type = TensorType::kUint8;
  refused(o, StatusCode::kInvalidInput, "type");
  o.color = TensorColor::kGray;  // which has no third channel
  EXPECT_TRUE(TensorDecoder::make(o));
  o.threads = 2000;
  refused(o, StatusCode::kInvalidInput, "threads");
  o = test::tensor_options(8, 8, 0);
  o.layout = static_cast<TensorLayout>(9);
  refused(o, StatusCode::kInvalidInput, "type");
}

TEST(TensorDecoder, LimitsAndDeadlinesHoldForEachImage) {
  const Bytes small = picture(30, 20);
  const Bytes large = picture(300, 200);
  TensorOptions options = test::tensor_options(8, 8, 0);
  options.limits.max_input_pixels = 1000;
  auto decoder = TensorDecoder::make(options).value();
  const TensorItem items[] = {{large, {}, false}, {small, {}, false}};
  Bytes batch(2 * decoder.image_bytes());
  ASSERT_TRUE(decoder.decode(items, {batch.data(), batch.size(), nullptr}));
  EXPECT_EQ(decoder.image(0).error().code(), StatusCode::kTooLarge);
  EXPECT_TRUE(decoder.image(1));
  options = test::tensor_options(8, 8, 0);
  options.limits.max_input_bytes = small.size();
  auto narrow = TensorDecoder::make(options).value();
  ASSERT_TRUE(narrow.decode(items, {batch.data(), batch.size(), nullptr}));
  EXPECT_EQ(narrow.image(0).error().code(), StatusCode::kTooLarge);
  EXPECT_TRUE(narrow.image(1));
}

TEST(TensorDecoder, TruncatedFilesDecodeWithWarningsAndGreyBelow) {
  for (const bool progressive : {false, true}) {
    Bytes jpeg = picture(64, 256, progressive);
    jpeg.resize(jpeg.size() / 2);
    TensorOptions options = test::tensor_options(64, 256, 0);
    options.type = TensorType::kUint8;
    options.color = TensorColor::kGray;
    auto decoder = TensorDecoder::make(options).value();
    Bytes batch(decoder.image_bytes());
    const TensorItem item{jpeg, {}, false};
    ASSERT_TRUE(decoder.decode({&item, 1}, {batch.data(), batch.size(), nullptr}));
    ASSERT_TRUE(decoder.image(0)) << decoder.image(0).error().to_string();
    const auto& warnings = decoder.image(0)->warnings;
    EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(),
                            [](const Warning& w) { return w.kind == WarningKind::kTruncated; }));
    if (progressive) continue;  // its scans fill the whole picture, ever finer
    const bool gray_below = std::all_of(batch.end() - 64 * 16, batch.end(),
                                        [&](std::uint8_t b) { return b == batch.back(); });
    EXPECT_TRUE(gray_below);
  }
}

TEST(TensorDecoder, ThreadsGiveTheSameBytesInAnyNumber) {
  std::vector<Bytes> files;
  for (int i = 0; i < 40; ++i) files.push_back(picture(30 + 7 * i, 200 - 3 * i, i % 5 == 0, i));
  std::vector<TensorItem> items;
  for (std::size_t i = 0; i < files.size(); ++i) {
    items.push_back({files[i], CropBox{1, 2, 20, 25}, i % 2 == 0});
  }
  items[7].jpeg = items[7].jpeg.first(50);  // one that fails
  TensorOptions options = test::tensor_options(33, 21, 0);
  options.type = TensorType::kFloat16;
  std::vector<Bytes> batches;
  for (const unsigned threads : {1u, 3u, 8u}) {
    options.threads = threads;
    auto decoder = TensorDecoder::make(options).value();
    EXPECT_EQ(decoder.options().threads, threads);
    for (int round = 0; round < 3; ++round) {
      Bytes batch(items.size() * decoder.image_bytes(), static_cast<std::uint8_t>(round));
      std::vector<std::uint8_t> ok(items.size(), 5);
      ASSERT_TRUE(decoder.decode(items, {batch.data(), batch.size(), ok.data()}));
      EXPECT_EQ(std::count(ok.begin(), ok.end(), 1), 39);
      batches.push_back(std::move(batch));
    }
  }
  for (const Bytes& batch : batches) EXPECT_TRUE(batch == batches[0]);
}

TEST(TensorDecoder, SeveralObjectsWorkAtOnce) {
  const Bytes jpeg = picture(90, 70);
  std::vector<TensorItem> items(12, TensorItem{jpeg, CropBox{3, 3, 80, 60}, false});
  std::vector<Bytes> batches(4);
  std::vector<std::thread> users;
  for (auto& batch : batches) {
    users.emplace_back([&] {
      TensorOptions options = test::tensor_options(16, 16, 0);
      options.threads = 2;
      auto decoder = TensorDecoder::make(options).value();
      batch.resize(items.size() * decoder.image_bytes());
      for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(decoder.decode(items, {batch.data(), batch.size(), nullptr}));
      }
    });
  }
  for (auto& user : users) user.join();
  for (const Bytes& batch : batches) EXPECT_TRUE(batch == batches[0]);
}

TEST(TensorDecoder, MovesAndGoesOn) {
  const Bytes jpeg = picture(50, 50);
  const TensorItem items[] = {{jpeg, {}, false}, {jpeg, {}, false}};
  TensorOptions options = test::tensor_options(9, 9, 0);
  options.threads = 2;
  auto first = TensorDecoder::make(options).value();
  Bytes batch(2 * first.image_bytes());
  ASSERT_TRUE(first.decode(items, {batch.data(), batch.size(), nullptr}));
  TensorDecoder second = std::move(first);
  EXPECT_TRUE(second.image(1));
  ASSERT_TRUE(second.decode(items, {batch.data(), batch.size(), nullptr}));
}

TEST(PictureSize, IsThatOfTheHeader) {
  const auto size = read_picture_size(picture(123, 45));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->width_px, 123);
  EXPECT_EQ(size->height_px, 45);
  EXPECT_EQ(read_picture_size({}).error().code(), StatusCode::kInvalidInput);
  Limits limits;
  limits.max_input_pixels = 10;
  EXPECT_EQ(read_picture_size(picture(123, 45), false, limits).error().code(),
            StatusCode::kTooLarge);
}

}  // namespace
}  // namespace framewire
