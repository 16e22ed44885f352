// Batches that are under way together: the same as one by one, in any order, and when they end.
#include <gtest/gtest.h>
#include <algorithm>
#include <framewire/tensor.hpp>
#include <optional>
#include <tests/conformance/cases.hpp>
#include <tests/gpu/device_tensors.hpp>
#include <utility>

namespace framewire::gpu_tests {
namespace {

/// Files of all layouts, of which some are damaged or none at all, and an item for each.
struct OddFiles {
  std::vector<JpegBytes> files;
  std::vector<TensorItem> items;

  explicit OddFiles(std::uint32_t seed, std::size_t count) {
    const auto& layouts = conformance::all_layouts();
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      files.push_back(
          conformance::make_jpeg({layouts[i % layouts.size()], conformance::all_codings()[i % 3],
                                  70 + static_cast<int>(i % 30), 50, 85, 0, seed + number}));
      if (i % 7 == 5) files.back().resize(files.back().size() * 2 / 3);
      if (i % 11 == 3) files.back() = {1, 2, 3};
    }
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back({files[i], CropBox{3, 2, 40, 31}, i % 2 == 1});
    }
  }
};

TEST_F(GpuTensor, BatchesUnderWayAreThoseOneByOne) {
  TensorOptions options = options_of(24, 16);
  options.device = 0;
  auto decoder = TensorDecoder::make(options).value();
  std::vector<OddFiles> batches;
  for (const std::uint32_t seed : {1u, 200u, 400u, 600u, 800u}) {
    batches.emplace_back(seed, 40 + seed % 60);
  }
  struct UnderWay {
    gpu::Buffer memory;
    std::vector<std::uint8_t> ok;
    TensorBatch batch;
  };
  auto stream = gpu::Stream::make().value();
  std::vector<UnderWay> all;
  for (const OddFiles& batch : batches) {
    const std::size_t bytes = batch.items.size() * decoder.image_bytes();
    auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, bytes).value();
    std::vector<std::uint8_t> ok(batch.items.size(), 7);
    auto begun = decoder.begin_to_device(
        batch.items, {memory.data(), bytes, CudaStream(stream.get()), ok.data()});
    ASSERT_TRUE(begun) << begun.error().to_string();
    EXPECT_EQ(begun->image(0).error().code(), StatusCode::kInvalidInput);  // not there yet
    EXPECT_EQ(decoder.image(0).error().code(), StatusCode::kInvalidInput);
    all.push_back({std::move(memory), std::move(ok), std::move(*begun)});
  }
  for (const std::size_t i : {std::size_t{2}, std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(all[i].batch.wait());
    ASSERT_TRUE(all[i].batch.wait());  // the same again
    JpegBytes found(batches[i].items.size() * decoder.image_bytes());
    (void)cudaMemcpy(found.data(), all[i].memory.data(), found.size(), cudaMemcpyDeviceToHost);
    auto alone = TensorDecoder::make(options).value();
    const DeviceBatch expected = decode_on_device(alone, batches[i].items);
    ASSERT_TRUE(expected.done);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.elements.begin()));
    EXPECT_EQ(all[i].ok, expected.ok);
    for (std::size_t n = 0; n < batches[i].items.size(); ++n) {
      const auto& image = all[i].batch.image(n);
      const auto& other = alone.image(n);
      ASSERT_EQ(image.has_value(), other.has_value());
      if (image) {
        EXPECT_EQ(image->warnings.size(), other->warnings.size());
      } else {
        EXPECT_EQ(image.error().to_string(), other.error().to_string());
      }
    }
  }
  // One call between batches under way, which both stay what they were.
  const DeviceBatch between = decode_on_device(decoder, batches[0].items);
  ASSERT_TRUE(between.done);
  ASSERT_TRUE(all[3].batch.wait());
  EXPECT_TRUE(all[3].batch.image(0));
  EXPECT_TRUE(decoder.image(0));
  const auto begin_again = [&](std::size_t i) {
    return decoder.begin_to_device(batches[i].items, {all[i].memory.data(), all[i].memory.bytes(),
                                                      CudaStream(stream.get()), nullptr});
  };
  TensorBatch one = begin_again(0).value();
  one = begin_again(1).value();  // ends the other first
  ASSERT_TRUE(one.wait());
  EXPECT_EQ(one.image(batches[1].items.size()).error().code(), StatusCode::kInvalidInput);
}

TEST_F(GpuTensor, ABatchMayOutliveItsDecoderOrNeverBeWaitedFor) {
  TensorOptions options = options_of(24, 16);
  options.device = 0;
  const OddFiles batch(1, 30);
  auto stream = gpu::Stream::make().value();
  for (const bool waits : {true, false}) {
    std::optional<TensorDecoder> decoder = TensorDecoder::make(options).value();
    const std::size_t bytes = batch.items.size() * decoder->image_bytes();
    auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, bytes).value();
    {
      auto begun = decoder->begin_to_device(
          batch.items, {memory.data(), bytes, CudaStream(stream.get()), nullptr});
      ASSERT_TRUE(begun);
      decoder.reset();
      if (!waits) continue;
      ASSERT_TRUE(begun->wait());
      EXPECT_TRUE(begun->image(0));
      EXPECT_FALSE(begun->image(3));
      EXPECT_EQ(begun->image(30).error().code(), StatusCode::kInvalidInput);
    }
  }
}

TEST_F(GpuTensor, BatchesUnderWayAreRefusedAsOthers) {
  TensorOptions options = options_of(8, 8);
  auto cpu = TensorDecoder::make(options).value();
  auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, cpu.image_bytes()).value();
  const OddFiles batch(1, 1);
  const DeviceTensorView out{memory.data(), memory.bytes(), CudaStream::legacy_default(), nullptr};
  EXPECT_EQ(cpu.begin_to_device(batch.items, out).error().code(), StatusCode::kInvalidInput);
  options.device = 0;
  auto decoder = TensorDecoder::make(options).value();
  DeviceTensorView small = out;
  small.bytes -= 1;
  EXPECT_EQ(decoder.begin_to_device(batch.items, small).error().code(), StatusCode::kTooLarge);
  auto none = decoder.begin_to_device({}, out);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->wait());
  EXPECT_EQ(none->image(0).error().code(), StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire::gpu_tests
