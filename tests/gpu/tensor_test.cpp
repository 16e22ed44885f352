// Batches that a GPU makes against the CPU's: every layout, coding, kernel, type and turn.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <framewire/tensor.hpp>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <optional>
#include <random>
#include <tests/conformance/cases.hpp>
#include <tests/gpu/device_tensors.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/tensors.hpp>

namespace framewire::gpu_tests {
namespace {

using conformance::Case;
/// An element in levels of samples.
double level_at(const std::uint8_t* image, std::size_t index, TensorType type) {
  return test::element_at(image, index, type) * (type == TensorType::kUint8 ? 1 : 255);
}

struct Difference {
  double largest = 0;  ///< in levels of samples, as all below
  double mean = 0;
};

Difference difference(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes,
                      TensorType type) {
  Difference found;
  const std::size_t count = bytes / test::element_bytes(type);
  for (std::size_t i = 0; i < count; ++i) {
    const double one = std::fabs(level_at(a, i, type) - level_at(b, i, type));
    found.largest = std::max(found.largest, one);
    found.mean += one / static_cast<double>(count);
  }
  return found;
}

/// Decodes on both, and compares. @param bound  levels, of single elements
void expect_same(const std::vector<TensorItem>& items, TensorOptions options, double bound) {
  options.device = -1;
  auto host = TensorDecoder::make(options).value();
  JpegBytes expected(items.size() * host.image_bytes());
  std::vector<std::uint8_t> ok(items.size(), 9);
  ASSERT_TRUE(host.decode(items, {expected.data(), expected.size(), ok.data()}));
  options.device = 0;
  auto made = TensorDecoder::make(options);
  ASSERT_TRUE(made) << made.error().to_string();
  const DeviceBatch batch = decode_on_device(*made, items);
  ASSERT_TRUE(batch.done) << batch.done.error().to_string();
  EXPECT_EQ(batch.ok, ok);
  for (std::size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE(i);
    const std::size_t at = i * host.image_bytes();
    const Difference d = difference(batch.elements.data() + at, expected.data() + at,
                                    host.image_bytes(), options.type);
    EXPECT_LE(d.largest, bound);
    EXPECT_LE(d.mean, bound / 8);
    const auto& found = made->image(i);
    const auto& wanted = host.image(i);
    ASSERT_EQ(found.has_value(), wanted.has_value());
    if (!found) {
      EXPECT_EQ(found.error().to_string(), wanted.error().to_string());
      continue;
    }
    EXPECT_EQ(found->crop, wanted->crop);
    EXPECT_EQ(found->orientation, wanted->orientation);
    EXPECT_EQ(found->warnings.size(), wanted->warnings.size());
  }
  EXPECT_TRUE(std::all_of(batch.elements.end() - kGuard, batch.elements.end(),
                          [](std::uint8_t byte) { return byte == kFill; }));
}

/// Of decoded planes single samples differ by 1 (tests/gpu/picture_test.cpp), and blue has 1.772
/// times that of chroma; what is left is rounded once more.
constexpr double kBound = 3.01;

TEST_F(GpuTensor, EveryLayoutAndCoding) {
  std::mt19937 random(1);
  std::vector<JpegBytes> files;
  std::vector<TensorItem> items;
  for (const auto& layout : conformance::all_layouts()) {
    for (const auto& coding : conformance::all_codings()) {
      const Case c{layout, coding, 61, 47, 85, 0, static_cast<std::uint32_t>(files.size())};
      files.push_back(conformance::make_jpeg(c));
      const bool all = files.size() % 3 == 0;
      items.push_back({{},
                       all ? std::nullopt : std::optional(test::random_box(random, 61, 47)),
                       files.size() % 2 == 0});
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) items[i].jpeg = files[i];
  TensorOptions options = options_of(24, 20);
  for (const TensorColor color :
       {TensorColor::kRgb, TensorColor::kBgr, TensorColor::kGray, TensorColor::kYcbcr}) {
    SCOPED_TRACE(static_cast<int>(color));
    options.color = color;
    expect_same(items, options, kBound);
  }
  options.color = TensorColor::kRgb;
  options.fidelity = TensorFidelity::kFast;
  expect_same(items, options, 4.1);
}

TEST_F(GpuTensor, EveryKernelTypeAndOrder) {
  std::mt19937 random(2);
  const JpegBytes file = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 250, 131, 90, 0, 5});
  std::vector<TensorItem> items;
  for (int i = 0; i < 5; ++i) {
    items.push_back({file, test::random_box(random, 250, 131), i % 2 == 1});
  }
  for (const Kernel kernel :
       {Kernel::kBilinear, Kernel::kBicubic, Kernel::kLanczos3, Kernel::kArea}) {
    for (const TensorType type :
         {TensorType::kUint8, TensorType::kFloat16, TensorType::kBfloat16, TensorType::kFloat32}) {
      SCOPED_TRACE(static_cast<int>(kernel) * 10 + static_cast<int>(type));
      TensorOptions options = options_of(32, 48);
      options.kernel = kernel;
      options.type = type;
      options.layout = type == TensorType::kFloat16 ? TensorLayout::kNhwc : TensorLayout::kNchw;
      // bfloat16 has steps of up to a level.
      const double bound = type == TensorType::kBfloat16 ? kBound + 1 : kBound;
      expect_same(items, options, bound);
      if (kernel != Kernel::kBilinear && kernel != Kernel::kBicubic) continue;
      options.antialias = false;
      expect_same(items, options, bound);
    }
  }
}

TEST_F(GpuTensor, DamageAndErrorsConcernOneImage) {
  const JpegBytes good = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 64, 48, 85, 0, 3});
  JpegBytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() * 2 / 3));
  JpegBytes scribbled = good;
  for (std::size_t i = good.size() - 200; i < good.size() - 2; i += 3) scribbled[i] = 0x5A;
  const JpegBytes garbage(300, 0x22);
  const std::vector<TensorItem> items = {{good, {}, false},
                                         {garbage, {}, false},
                                         {cut, {}, true},
                                         {good, CropBox{60, 0, 9, 9}, false},
                                         {{}, {}, false},
                                         {scribbled, {}, false},
                                         {good, CropBox{3, 5, 20, 31}, true}};
  expect_same(items, options_of(16, 16), kBound);
}

/// The device's lanes read the head of a file alone.
TEST_F(GpuTensor, WhatLiesBehindTheScanIsSaid) {
  const Case c{conformance::layout("420"), conformance::coding("baseline"), 61, 47, 85, 0, 5};
  const JpegBytes sound = conformance::make_jpeg(c);
  const auto before_end = sound.end() - 2;
  JpegBytes comment(sound.begin(), before_end);
  comment.insert(comment.end(), {0xFF, 0xFE, 0, 5, 'a', 'b', 'c'});
  JpegBytes stray(sound.begin(), before_end);
  stray.insert(stray.end(), {0xFF, 0xFE, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8});
  JpegBytes fill(sound.begin(), before_end);
  fill.insert(fill.end(), {0xFF, 0xFF});
  JpegBytes behind = sound;  // another file
  behind.insert(behind.end(), sound.begin(), sound.end());
  std::vector<JpegBytes> files{sound, comment, stray, fill, behind};
  for (std::size_t i = 1; i < 4; ++i) files[i].insert(files[i].end(), {0xFF, 0xD9});
  std::vector<TensorItem> items(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) items[i].jpeg = files[i];
  expect_same(items, options_of(24, 20), kBound);
}

TEST_F(GpuTensor, PicturesThatAreTurned) {
  std::vector<JpegBytes> files;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    JpegBytes file = conformance::make_jpeg(
        {conformance::layout("422"), conformance::all_codings()[0], 60, 44, 90, 0, 7});
    // APP1: Exif with the one tag.
    const JpegBytes app1 = {
        0xFF, 0xE1, 0x00, 0x22, 'E', 'x', 'i', 'f', 0, 0,
        'M',  'M',  0,    42,   0,   0,   0,   8,   0, 1,
        0x01, 0x12, 0,    3,    0,   0,   0,   1,   0, static_cast<std::uint8_t>(orientation),
        0,    0,    0,    0,    0,   0};
    file.insert(file.begin() + 2, app1.begin(), app1.end());
    files.push_back(file);
  }
  std::vector<TensorItem> items;
  for (const auto& file : files) {
    items.push_back({file, CropBox{2, 3, 30, 20}, false});
    items.push_back({file, {}, true});
  }
  TensorOptions options = options_of(20, 28);
  options.exif = true;
  for (const TensorFidelity fidelity : {TensorFidelity::kExact, TensorFidelity::kFast}) {
    options.fidelity = fidelity;
    expect_same(items, options, fidelity == TensorFidelity::kExact ? kBound : 4.1);
  }
}

TEST_F(GpuTensor, ShrinksAndEnlargesByMuch) {
  const JpegBytes wide = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 3000, 16, 80, 0, 9});
  const JpegBytes tiny = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 3, 2, 80, 0, 9});
  for (const auto& [w, h] : {std::pair(1, 1), std::pair(2, 40), std::pair(300, 3)}) {
    SCOPED_TRACE(w);
    TensorOptions options = options_of(w, h);
    expect_same({{wide, {}, false}, {tiny, {}, false}}, options, kBound);
    options.kernel = Kernel::kLanczos3;  // reaches further than a block: the host's
    expect_same({{wide, {}, false}, {tiny, {}, true}}, options, kBound);
  }
}

// Weights are rounded: where there are many, how they round may meet what the picture repeats.
TEST_F(GpuTensor, StripesAreTheGreyBetweenThem) {
  std::vector<JpegBytes> files;
  for (const int length : {64, 256, 300, 993, 3000}) {
    for (const bool across : {true, false}) {
      const sample::Spec spec{across ? length : 8, across ? 8 : length, JCS_GRAYSCALE, 1, 1, 100};
      files.push_back(sample::make(spec, [across](int, double x, double y) {
        return static_cast<int>(across ? x : y) % 2 == 0 ? 0.0 : 250.0;
      }));
    }
  }
  std::vector<TensorItem> items;
  for (const JpegBytes& file : files) items.push_back({file, {}, false});
  TensorOptions options = options_of(1, 1);
  options.color = TensorColor::kGray;
  options.type = TensorType::kUint8;
  for (const Kernel kernel : {Kernel::kArea, Kernel::kBilinear, Kernel::kLanczos3}) {
    options.kernel = kernel;
    expect_same(items, options, 1.01);
  }
}

TEST_F(GpuTensor, ManyImagesInAnyNumberOfBatches) {
  std::vector<JpegBytes> files;
  for (int i = 0; i < 7; ++i) {
    files.push_back(conformance::make_jpeg({conformance::layout(i % 2 == 0 ? "420" : "444"),
                                            conformance::all_codings()[0], 40 + 9 * i, 70 - 5 * i,
                                            80, i % 3, static_cast<std::uint32_t>(i)}));
  }
  std::vector<TensorItem> items;
  for (std::size_t i = 0; i < 45; ++i) items.push_back({files[i % files.size()], {}, i % 4 == 0});
  TensorOptions options = options_of(17, 13);
  options.type = TensorType::kUint8;
  expect_same(items, options, kBound);
  options.device = 0;
  auto decoder = TensorDecoder::make(options).value();
  const auto first = decode_on_device(decoder, items);
  const auto one = decode_on_device(decoder, {items[3]});
  const auto again = decode_on_device(decoder, items);
  EXPECT_EQ(first.elements, again.elements);
  EXPECT_TRUE(
      std::equal(one.elements.begin(), one.elements.end() - kGuard,
                 first.elements.begin() + 3 * static_cast<std::ptrdiff_t>(decoder.image_bytes())));
  EXPECT_TRUE(decode_on_device(decoder, {}).done);
}

// More groups than streams: each stream is waited for, and its memory taken again, while others are
// under way. Damaged, progressive and empty files lie among them.
TEST_F(GpuTensor, GroupsTakeTurnsOnTheStreams) {
  std::vector<JpegBytes> files;
  for (int i = 0; i < 6; ++i) {
    files.push_back(conformance::make_jpeg({conformance::layout(i % 2 == 0 ? "420" : "444"),
                                            conformance::all_codings()[0], 16 + i, 24 - i, 80, 0,
                                            static_cast<std::uint32_t>(i)}));
  }
  files.push_back(files[0]);
  files.back().resize(files.back().size() / 2);
  files.emplace_back();
  std::vector<TensorItem> items;
  for (std::size_t i = 0; i < 600; ++i) {
    items.push_back({files[i * 7 % files.size()], {}, i % 3 == 0});
  }
  TensorOptions options = options_of(5, 4);
  options.threads = 3;
  expect_same(items, options, kBound);
}

TEST_F(GpuTensor, WritesBehindTheCallersStream) {
  const JpegBytes file = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 64, 48, 85, 0, 3});
  TensorOptions options = options_of(8, 8);
  options.device = 0;
  auto decoder = TensorDecoder::make(options).value();
  const std::vector<TensorItem> items = {{file, {}, false}};
  const auto expected = decode_on_device(decoder, items);
  auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, std::size_t{64} << 20).value();
  auto stream = gpu::Stream::make().value();
  for (int i = 0; i < 20; ++i) {
    (void)cudaMemsetAsync(memory.data(), i, memory.bytes(), stream.get());
  }
  ASSERT_TRUE(decoder.decode_to_device(
      items, {memory.data(), memory.bytes(), CudaStream(stream.get()), nullptr}));
  JpegBytes found(decoder.image_bytes());
  (void)cudaMemcpy(found.data(), memory.data(), found.size(), cudaMemcpyDeviceToHost);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.elements.begin()));
}

TEST_F(GpuTensor, TakesNoBlameForAnErrorOfTheCallers) {
  const JpegBytes file = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 64, 48, 85, 0, 3});
  TensorOptions options = options_of(8, 8);
  options.device = 0;
  auto decoder = TensorDecoder::make(options).value();
  for (int i = 0; i < 3; ++i) {
    void* none = nullptr;
    ASSERT_EQ(cudaMalloc(&none, std::size_t{1} << 60), cudaErrorMemoryAllocation);
    const auto batch = decode_on_device(decoder, {{file, {}, false}});
    ASSERT_TRUE(batch.done) << batch.done.error().to_string();
    EXPECT_EQ(batch.ok[0], 1);
  }
}

TEST_F(GpuTensor, RefusesWhatIsNotTheDevices) {
  const JpegBytes file = conformance::make_jpeg(
      {conformance::layout("420"), conformance::all_codings()[0], 16, 16, 85, 0, 3});
  const std::vector<TensorItem> items = {{file, {}, false}};
  TensorOptions options = options_of(8, 8);
  options.device = 4711;
  EXPECT_EQ(TensorDecoder::make(options).error().code(), StatusCode::kUnsupported);
  options.device = 0;
  auto decoder = TensorDecoder::make(options).value();
  JpegBytes host(decoder.image_bytes());
  auto memory = gpu::Buffer::make(gpu::BufferKind::kDevice, decoder.image_bytes()).value();
  const auto stream = CudaStream::legacy_default();
  const auto code = [&](const DeviceTensorView& out) {
    return decoder.decode_to_device(items, out).error().code();
  };
  EXPECT_EQ(code({host.data(), host.size(), stream, nullptr}), StatusCode::kInvalidInput);
  EXPECT_EQ(code({nullptr, host.size(), stream, nullptr}), StatusCode::kInvalidInput);
  EXPECT_EQ(code({memory.data() + 1, host.size(), stream, nullptr}), StatusCode::kInvalidInput);
  EXPECT_EQ(code({memory.data(), host.size() - 1, stream, nullptr}), StatusCode::kTooLarge);
  EXPECT_EQ(code({memory.data(), host.size(), CudaStream(static_cast<void*>(nullptr)), nullptr}),
            StatusCode::kInvalidInput);
  EXPECT_EQ(decoder.decode(items, {host.data(), host.size(), nullptr}).error().code(),
            StatusCode::kInvalidInput);
  EXPECT_FALSE(decoder.image(0));
  options.device = -1;
  auto cpu = TensorDecoder::make(options).value();
  EXPECT_EQ(
      cpu.decode_to_device(items, {memory.data(), host.size(), stream, nullptr}).error().code(),
      StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire::gpu_tests
