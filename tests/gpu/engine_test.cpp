// Engines on a real device: the same answers as the CPU's, for the corpus and for what the tests
// draw; bounded memory; the same bytes every time.
#include <gmock/gmock.h>
#include <cstdlib>
#include <filesystem>
#include <framewire/engine.hpp>
#include <framewire/resizer.hpp>
#include <fstream>
#include <future>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

namespace fs = std::filesystem;

using EngineOnGpu = GpuTest;

Engine make_engine(CodecKind codec, EngineOptions options = {}) {
  options.codec = codec;
  return value_of(Engine::make(options));
}

ResizeOptions to_size(std::int32_t width, std::int32_t height, CodecKind codec = CodecKind::kAuto) {
  ResizeOptions options;
  options.width_px = width;
  options.height_px = height;
  options.codec = codec;
  options.limits.deadline_ms = 600'000;  // an emulated device takes its time
  return options;
}

std::vector<Result<Resized>> resize_all(Engine& engine, const std::vector<Bytes>& jpegs,
                                        const ResizeOptions& options) {
  std::vector<std::future<Result<Resized>>> futures;
  futures.reserve(jpegs.size());
  for (const Bytes& jpeg : jpegs) futures.push_back(engine.submit(jpeg, options));
  std::vector<Result<Resized>> results;
  for (auto& future : futures) results.push_back(future.get());
  return results;
}

/// Warm lanes answer with the same bytes, and never needed more memory than they took.
TEST_F(EngineOnGpu, WarmLanesAnswerAsColdOnesDo) {
  EngineOptions options;
  options.streams = 1;
  options.max_batch = 5;  // warm batches of 1, 4 and 5 pictures take long enough on the CPU
  options.gpu_memory_bytes = 1u << 30;
  Engine cold = make_engine(CodecKind::kCuda, options);
  options.warm_bytes = 512u << 20;
  Engine warm = make_engine(CodecKind::kCuda, options);
  EXPECT_EQ(warm.stats().gpu_images, 0u);
  const std::vector<Bytes> jpegs = {draw({320, 200, JCS_YCbCr, 2, 2, 85}),
                                    draw({111, 77, JCS_YCbCr, 1, 1, 85})};
  const auto from_cold = resize_all(cold, jpegs, to_size(100, 0));
  const auto from_warm = resize_all(warm, jpegs, to_size(100, 0));
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    ASSERT_TRUE(from_cold[i] && from_warm[i]);
    EXPECT_EQ(from_warm[i]->bytes, from_cold[i]->bytes);
  }
}

double psnr_db(const Bytes& a, const Bytes& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  if (a.size() != b.size()) return 0;
  return squares == 0 ? 99
                      : 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / squares);
}

/// The lowest PSNR of any plane of two streams, which libjpeg must read without a warning.
double lowest_psnr_db(const Bytes& one, const Bytes& other) {
  const sample::Decoded a = sample::decode(one);
  const sample::Decoded b = sample::decode(other);
  EXPECT_EQ(a.warnings, 0);
  EXPECT_EQ(a.planes.size(), b.planes.size());
  double lowest = 99;
  for (std::size_t c = 0; c < std::min(a.planes.size(), b.planes.size()); ++c) {
    lowest = std::min(lowest, psnr_db(a.planes[c].samples, b.planes[c].samples));
  }
  return lowest;
}

TEST_F(EngineOnGpu, NamesItsDevice) {
  const Engine engine = make_engine(CodecKind::kAuto);
  ASSERT_FALSE(engine.devices().empty());
  EXPECT_EQ(engine.devices()[0].ordinal, 0);
  EXPECT_FALSE(engine.devices()[0].name.empty());
  EXPECT_TRUE(engine.no_device_reason().empty());
  EngineOptions options;
  options.devices = {99};
  const auto missing = Engine::make(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(missing.error().subject(), "device");
}

TEST_F(EngineOnGpu, GivesTheCpusPictures) {
  Engine engine = make_engine(CodecKind::kCuda);
  const Resizer cpu;
  std::vector<Bytes> jpegs;
  for (const sample::Spec& spec : specs()) {
    jpegs.push_back(draw(spec));
    sample::Spec progressive = spec;
    progressive.separate_scans = false;
    progressive.progressive = true;
    jpegs.push_back(draw(progressive));
  }
  // At quality 100, since a coarse quantiser turns a sample's rounding into whole steps.
  ResizeOptions options = to_size(50, 37);
  options.quality = 100;
  const auto results = resize_all(engine, jpegs, options);
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(results[i]) << results[i].error().to_string();
    EXPECT_EQ(results[i]->report.codec, CodecKind::kCuda) << results[i]->report.codec_reason;
    const auto expected = value_of(cpu.resize(jpegs[i], options));
    EXPECT_EQ(results[i]->report.output.width_px, expected.report.output.width_px);
    EXPECT_EQ(results[i]->report.output.height_px, expected.report.output.height_px);
    EXPECT_GT(lowest_psnr_db(results[i]->bytes, expected.bytes), 44);
  }
  EXPECT_EQ(engine.stats().fallbacks, 0u);
}

// Holds also where the device has read a file only up to its first scan: a file that ends with EOI
// may have an earlier one.
TEST_F(EngineOnGpu, HandsTheCpusOriginalsOn) {
  std::vector<Bytes> jpegs;
  const auto add = [&](sample::Spec spec) -> Bytes& {
    spec.quality = 30;
    return jpegs.emplace_back(draw(spec));
  };
  add({64, 48, JCS_YCbCr, 2, 2});
  add({61, 45, JCS_YCbCr, 1, 1});
  add({64, 48, JCS_GRAYSCALE, 1, 1});
  sample::Spec progressive{64, 48, JCS_YCbCr, 2, 1};
  progressive.progressive = true;
  add(progressive);
  const std::size_t clean = jpegs.size();
  Bytes& trailing = add({64, 48, JCS_YCbCr, 2, 2});
  trailing.insert(trailing.end(), {'m', 'o', 'r', 'e', 0xFF, 0xD8, 0xFF, 0xD9});
  Bytes& surplus = add({64, 48, JCS_YCbCr, 2, 2});
  surplus.insert(surplus.end() - 2, 20, 0x55);
  Bytes& second_frame = add({64, 48, JCS_GRAYSCALE, 1, 1});
  const Bytes frame = {0xFF, 0xC0, 0, 11, 8, 0, 48, 0, 64, 1, 1, 0x11, 0};
  second_frame.insert(second_frame.end() - 2, frame.begin(), frame.end());
  Engine engine = make_engine(CodecKind::kCuda);
  const Resizer cpu;
  for (const bool always : {false, true}) {
    ResizeOptions options = to_size(100, 100);
    options.always_encode = always;
    const auto results = resize_all(engine, jpegs, options);
    for (std::size_t i = 0; i < jpegs.size(); ++i) {
      SCOPED_TRACE(i);
      const auto expected = value_of(cpu.resize(jpegs[i], options));
      ASSERT_TRUE(results[i]) << results[i].error().to_string();
      EXPECT_EQ(results[i]->report.original_kept, expected.report.original_kept);
      if (expected.report.original_kept) {
        EXPECT_EQ(results[i]->bytes, expected.bytes);
      }
      if (i < clean) {
        EXPECT_EQ(expected.report.original_kept, !always);
      }
    }
  }
}

TEST_F(EngineOnGpu, TwoRunsGiveTheSameBytes) {
  std::vector<Bytes> jpegs;
  for (int i = 0; i < 60; ++i) {
    Bytes jpeg = draw({200 + i, 150, JCS_YCbCr, 2, 2, 90}, i);
    if (i % 5 == 4) jpeg.resize(jpeg.size() * 2 / 3);
    jpegs.push_back(std::move(jpeg));
  }
  std::vector<std::vector<Bytes>> runs;
  for (const unsigned streams : {1u, 4u, 4u}) {
    EngineOptions options;
    options.streams = streams;
    options.max_batch = 7 * streams;
    Engine engine = make_engine(CodecKind::kAuto, options);
    std::vector<Bytes> outputs;
    for (auto& result : resize_all(engine, jpegs, to_size(80, 60))) {
      outputs.push_back(result ? result->bytes : Bytes{});
    }
    runs.push_back(std::move(outputs));
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[1], runs[2]);
}

TEST_F(EngineOnGpu, InputsInItsOwnMemoryGiveTheSameBytes) {
  Engine engine = make_engine(CodecKind::kAuto);
  std::vector<Bytes> jpegs;
  std::size_t bytes = 0;
  for (int i = 0; i < 30; ++i) {
    Bytes jpeg = draw({200 + i, 150, JCS_YCbCr, 2, 2, 90}, i);
    if (i % 5 == 4) jpeg.resize(jpeg.size() * 2 / 3);
    bytes += jpeg.size();
    jpegs.push_back(std::move(jpeg));
  }
  const auto expected = resize_all(engine, jpegs, to_size(80, 60));
  InputMemory memory = value_of(engine.input_memory(bytes));
  EXPECT_GE(engine.stats().pinned_bytes, bytes);
  std::vector<EngineRequest> requests;
  std::vector<Bytes> outputs(jpegs.size());
  std::span<std::uint8_t> room = memory.bytes();
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    const auto jpeg = room.first(jpegs[i].size());
    std::copy(jpegs[i].begin(), jpegs[i].end(), jpeg.begin());
    room = room.subspan(jpeg.size());
    requests.push_back({jpeg, to_size(80, 60), [&outputs, i](Result<Resized> result) {
                          if (result) outputs[i] = std::move(result->bytes);
                        }});
  }
  engine.submit(requests);
  engine.drain();
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    ASSERT_TRUE(expected[i]) << i;
    EXPECT_EQ(outputs[i], expected[i]->bytes) << i;
  }
}

TEST_F(EngineOnGpu, CopiesFromRegisteredMemoryAndWritesToMemoryOfTheCallers) {
  Engine engine = make_engine(CodecKind::kCuda);
  sample::Spec progressive{90, 70, JCS_YCbCr, 2, 2, 80};
  progressive.progressive = true;
  std::vector<Bytes> jpegs;
  std::size_t bytes = 0;
  for (int i = 0; i < 6; ++i) {
    jpegs.push_back(i == 3 ? draw(progressive) : draw({100 + 8 * i, 80, JCS_YCbCr, 2, 2, 85}));
    bytes += jpegs.back().size();
  }
  const auto expected = resize_all(engine, jpegs, to_size(40, 30));
  Bytes memory(bytes + 1 + 200);  // the last ones lie too near its end to be copied from there
  const std::uint64_t before = engine.stats().pinned_bytes;
  const auto registered = value_of(engine.register_memory(std::span(memory).subspan(1)));
  EXPECT_EQ(engine.stats().pinned_bytes, before + bytes + 200);
  EXPECT_EQ(engine.register_memory(memory).error().code(), StatusCode::kInvalidInput);
  std::vector<EngineRequest> requests;
  std::vector<Bytes> outputs(jpegs.size(), Bytes(1 << 16));
  std::span<std::uint8_t> rest = registered.bytes();
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    std::copy(jpegs[i].begin(), jpegs[i].end(), rest.begin());
    requests.push_back({rest.first(jpegs[i].size()), to_size(40, 30),
                        [&outputs, i](const Result<Resized>& result) {
                          outputs[i].resize(result ? result->written.size() : 0);
                        },
                        OutputSink(outputs[i])});
    rest = rest.subspan(jpegs[i].size());
  }
  engine.submit(requests);
  engine.drain();
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    ASSERT_TRUE(expected[i]) << i;
    EXPECT_EQ(expected[i]->report.codec, CodecKind::kCuda);
    EXPECT_EQ(outputs[i], expected[i]->bytes) << i;
  }
}

TEST_F(EngineOnGpu, StaysWithinItsMemory) {
  EngineOptions options;
  options.gpu_memory_bytes = 128u << 20;
  options.devices = {0};
  options.streams = 2;
  Engine engine = make_engine(CodecKind::kCuda, options);
  const std::size_t count = emulated() ? 6 : 40;
  const std::vector<Bytes> jpegs(count, draw({1600, 1200, JCS_YCbCr, 1, 1, 90}));
  for (const auto& result : resize_all(engine, jpegs, to_size(1000, 1000))) EXPECT_TRUE(result);
  EXPECT_LE(engine.stats().device_bytes, options.gpu_memory_bytes);
  EXPECT_GT(engine.stats().device_bytes, 0u);
  EXPECT_EQ(engine.stats().gpu_images, count);
}

TEST_F(EngineOnGpu, NvjpegComposesWithOurResampler) {
  EngineOptions options;
  options.codec = CodecKind::kNvjpeg;
  options.streams = 2;
  auto made = Engine::make(options);
  if (!made && made.error().code() == StatusCode::kUnsupported) {
    GTEST_SKIP() << made.error().message();
  }
  Engine engine = value_of(std::move(made));
  const Resizer cpu;
  std::vector<Bytes> jpegs;
  for (int i = 0; i < 20; ++i) jpegs.push_back(draw({640 + i, 480, JCS_YCbCr, 2, 2, 90}, i));
  const auto results = resize_all(engine, jpegs, to_size(160, 120));
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(results[i]) << results[i].error().to_string();
    EXPECT_EQ(results[i]->report.codec, CodecKind::kNvjpeg) << results[i]->report.codec_reason;
    const Bytes expected = value_of(cpu.resize(jpegs[i], to_size(160, 120))).bytes;
    EXPECT_GT(lowest_psnr_db(results[i]->bytes, expected), 32);
  }
}

std::vector<Bytes> corpus(const char* folder) {
  std::vector<Bytes> files;
  const char* root = std::getenv("FRAMEWIRE_CORPUS");
  if (root == nullptr) return files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

/// Every file beside good neighbours, all at once; each answer as the CPU's.
TEST_F(EngineOnGpu, AnswersForTheCorpusAsTheCpuDoes) {
  std::vector<Bytes> files = corpus("features");
  for (Bytes& file : corpus("hostile")) files.push_back(std::move(file));
  if (files.empty()) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  const Bytes good = draw({320, 240, JCS_YCbCr, 2, 2, 90});
  std::vector<Bytes> jpegs;
  for (Bytes& file : files) {
    jpegs.push_back(good);
    jpegs.push_back(std::move(file));
  }
  Engine engine = make_engine(CodecKind::kAuto);
  const Resizer cpu;
  const ResizeOptions options = to_size(120, 120);
  const Bytes expected_good = value_of(engine.resize(good, options)).bytes;
  const auto results = resize_all(engine, jpegs, options);
  std::size_t on_gpu = 0;
  for (std::size_t i = 0; i < jpegs.size(); i += 2) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(results[i]) << results[i].error().to_string();
    EXPECT_EQ(results[i]->bytes, expected_good) << "a neighbour was harmed";
    const auto expected = cpu.resize(jpegs[i + 1], options);
    ASSERT_EQ(results[i + 1].has_value(), expected.has_value())
        << (expected ? results[i + 1].error().to_string() : expected.error().to_string());
    if (!expected) {
      EXPECT_EQ(results[i + 1].error().code(), expected.error().code());
      continue;
    }
    on_gpu += results[i + 1]->report.codec == CodecKind::kCuda ? 1 : 0;
    EXPECT_EQ(results[i + 1]->report.output.width_px, expected->report.output.width_px);
    EXPECT_EQ(results[i + 1]->report.output.height_px, expected->report.output.height_px);
    if (lowest_psnr_db(results[i + 1]->bytes, expected->bytes) > 30) continue;
    // Coefficients beyond what samples can make (a flipped bit in a DC difference) mean something
    // else to every decoder: then the CPU codecs do not agree either.
    ResizeOptions slow = options;
    slow.codec = CodecKind::kReference;
    const auto reference = cpu.resize(jpegs[i + 1], slow);
    ASSERT_TRUE(reference);
    EXPECT_LT(lowest_psnr_db(expected->bytes, reference->bytes), 35);
  }
  EXPECT_GT(on_gpu, files.size() / 4);
}

}  // namespace
}  // namespace framewire::gpu_tests
