// The public API for device memory: decode into it, encode from it, in a caller's stream.
#include <gmock/gmock.h>
#include <codec/codec.hpp>
#include <codec/reference/reference_codec.hpp>
#include <framewire/device.hpp>
#include <tests/gpu/device_planes.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using DeviceApi = GpuTest;
using testing::HasSubstr;

int largest_difference(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

std::vector<Bytes> all_kinds() {
  std::vector<Bytes> jpegs;
  for (sample::Spec spec : specs()) {
    jpegs.push_back(draw(spec));
    spec.separate_scans = false;
    spec.progressive = true;
    jpegs.push_back(draw(spec));
  }
  return jpegs;
}

std::vector<std::span<const std::uint8_t>> views(const std::vector<Bytes>& jpegs) {
  return {jpegs.begin(), jpegs.end()};
}

TEST_F(DeviceApi, DecodesWhatTheReferenceDecodes) {
  const std::vector<Bytes> jpegs = all_kinds();
  const auto reference = codec::make_reference_codec();
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const OwnedStream stream;
  for (const int scale : {8, 6, 5, 4, 2, 1}) {
    ASSERT_TRUE(decoder.decode(views(jpegs), scale, CudaStream(stream.get())));
    ASSERT_TRUE(decoder.wait());
    plan::Scales scales;
    scales.fill(scale);
    for (std::size_t i = 0; i < jpegs.size(); ++i) {
      SCOPED_TRACE(i);
      const auto& image = decoder.image(i);
      ASSERT_TRUE(image);
      const auto file = value_of(jpeg::parse(jpegs[i], Limits{}));
      codec::CodecOutcome outcome;
      const auto expected = value_of(reference->decode(file, scales, {}, outcome));
      ASSERT_EQ(static_cast<std::size_t>(image->component_count), expected.planes.size());
      for (std::size_t c = 0; c < expected.planes.size(); ++c) {
        EXPECT_LE(largest_difference(download(image->planes[c]), expected.planes[c].samples), 1);
      }
    }
  }
}

TEST_F(DeviceApi, TheCallersStreamSeesThePlanesWithoutAWait) {
  const std::vector<Bytes> jpegs(20, draw({640, 360, JCS_YCbCr, 2, 2, 90}));
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const OwnedStream stream;
  ASSERT_TRUE(decoder.decode(views(jpegs), 8, CudaStream(stream.get())));
  const DeviceImage image = value_of(Result<DeviceImage>(decoder.image(19)));
  Bytes copied(std::size_t{640} * 360);
  ASSERT_EQ(cudaMemcpy2DAsync(copied.data(), 640, image.planes[0].samples,
                              static_cast<std::size_t>(image.planes[0].pitch_bytes), 640, 360,
                              cudaMemcpyDeviceToHost, stream.get()),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  ASSERT_TRUE(decoder.wait());
  EXPECT_EQ(copied, download(decoder.image(0)->planes[0]));
}

TEST_F(DeviceApi, DamagedFilesAreDecodedAndNeighboursUnharmed) {
  const Bytes good = draw({200, 150, JCS_YCbCr, 2, 2, 90});
  const Bytes half(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2));
  const Bytes nothing{1, 2, 3};
  const std::vector<Bytes> jpegs{good, half, nothing, good};
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const OwnedStream stream;
  ASSERT_TRUE(decoder.decode(views(jpegs), 8, CudaStream(stream.get())));
  ASSERT_TRUE(decoder.wait());
  ASSERT_TRUE(decoder.image(0) && decoder.image(1) && decoder.image(3));
  EXPECT_TRUE(decoder.image(0)->warnings.empty());
  EXPECT_FALSE(decoder.image(1)->warnings.empty());
  ASSERT_FALSE(decoder.image(2));
  EXPECT_EQ(decoder.image(2).error().code(), StatusCode::kInvalidInput);
  const Bytes luma = download(decoder.image(1)->planes[0]);
  EXPECT_EQ(luma.back(), 128) << "what was not there is grey";
  EXPECT_EQ(download(decoder.image(0)->planes[0]), download(decoder.image(3)->planes[0]));
}

TEST_F(DeviceApi, EncodesWhatItDecoded) {
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2), std::pair(1, 2)}) {
    const std::vector<Bytes> jpegs{draw({208, 160, JCS_YCbCr, h, v, 95}),
                                   draw({64, 64, JCS_GRAYSCALE, 1, 1, 95})};
    DeviceDecoder decoder = value_of(DeviceDecoder::make());
    DeviceEncoder encoder = value_of(DeviceEncoder::make());
    const OwnedStream stream;
    ASSERT_TRUE(decoder.decode(views(jpegs), 8, CudaStream(stream.get())));
    ASSERT_TRUE(decoder.wait());
    std::vector<DeviceEncodeItem> items;
    for (std::size_t i = 0; i < 2; ++i) {
      const DeviceImage& image = *decoder.image(i);
      DeviceEncodeItem item;
      item.planes = std::span(image.planes).first(static_cast<std::size_t>(image.component_count));
      item.options.quality = 95;
      item.options.restart_interval_mcus = i == 0 ? 5 : 0;
      items.push_back(item);
    }
    ASSERT_TRUE(encoder.encode(items, CudaStream(stream.get())));
    ASSERT_TRUE(encoder.wait());
    for (std::size_t i = 0; i < 2; ++i) {
      const auto bytes = value_of(encoder.stream(i));
      const sample::Decoded again = sample::decode(Bytes(bytes.begin(), bytes.end()));
      EXPECT_EQ(again.warnings, 0);
      ASSERT_EQ(again.planes.size(), items[i].planes.size());
      for (std::size_t c = 0; c < again.planes.size(); ++c) {
        EXPECT_EQ(again.planes[c].width_px, items[i].planes[c].width_px);
        EXPECT_EQ(again.planes[c].height_px, items[i].planes[c].height_px);
        // Whole blocks, quantised by the same tables: coefficients come back but for rounding.
        EXPECT_LE(largest_difference(again.planes[c].samples, download(items[i].planes[c])), 6);
      }
    }
  }
}

TEST_F(DeviceApi, SaysWhatPlanesMeanAndEncodesNoRgb) {
  const std::vector<Bytes> jpegs{draw({64, 64, JCS_RGB, 1, 1, 95}),
                                 draw({64, 64, JCS_CMYK, 1, 1, 95})};
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  DeviceEncoder encoder = value_of(DeviceEncoder::make());
  ASSERT_TRUE(decoder.decode(views(jpegs), 8, CudaStream::legacy_default()));
  ASSERT_TRUE(decoder.wait());
  const DeviceImage& image = *decoder.image(0);
  EXPECT_EQ(image.color_model, DeviceColorModel::kRgb);
  EXPECT_FALSE(image.inverted_inks);
  EXPECT_EQ(decoder.image(1)->color_model, DeviceColorModel::kCmyk);
  EXPECT_TRUE(decoder.image(1)->inverted_inks);
  DeviceEncodeItem item;
  item.planes = std::span(image.planes).first(3);
  item.color_model = image.color_model;
  const auto refused = encoder.encode({&item, 1}, CudaStream::legacy_default());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.error().subject(), "item 0");
}

TEST_F(DeviceApi, RefusesWhatMakesNoPicture) {
  DeviceEncoder encoder = value_of(DeviceEncoder::make());
  void* allocated = nullptr;
  ASSERT_EQ(cudaMalloc(&allocated, 1 << 16), cudaSuccess);
  auto* const memory = static_cast<std::uint8_t*>(allocated);
  const DevicePlane luma{memory, 64, 64, 64};
  const auto refused = [&](std::vector<DevicePlane> planes, int quality = 80) -> std::string {
    const DeviceEncodeItem item{planes, {quality, false, 0}};
    auto done = encoder.encode({&item, 1}, CudaStream::legacy_default());
    return done ? "" : done.error().message();
  };
  EXPECT_THAT(refused({luma, luma}), HasSubstr("2 planes"));
  EXPECT_THAT(refused({luma}, 0), HasSubstr("quality 0"));
  EXPECT_THAT(refused({{memory + 1, 64, 64, 64}}), HasSubstr("16 bytes"));
  EXPECT_THAT(refused({{memory, 64, 64, 60}}), HasSubstr("16 bytes"));
  EXPECT_THAT(refused({luma, {memory, 20, 32, 32}, {memory, 20, 32, 32}}), HasSubstr("half"));
  EXPECT_EQ(refused({luma, {memory, 32, 32, 32}, {memory, 32, 32, 32}}), "");
  EXPECT_TRUE(encoder.wait());
  (void)cudaFree(allocated);
  const auto missing = DeviceDecoder::make(99);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace framewire::gpu_tests
