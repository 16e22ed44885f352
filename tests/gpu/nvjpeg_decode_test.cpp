// What nvJPEG decodes, by each backend and in batches, against libjpeg-turbo's planes.
#ifdef FRAMEWIRE_HAS_NVJPEG
#include <codec/nvjpeg/decoder.hpp>
#include <codec/nvjpeg/host_transfer.hpp>
#include <codec/nvjpeg/nvjpeg_codec.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <iterator>
#include <jpeg/parser.hpp>
#include <memory>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/gpu/gpu.hpp>
#include <thread>

namespace framewire::gpu_tests {
namespace {

using codec::nvjpeg::Backend;
using codec::nvjpeg::NvjpegDecoder;
using conformance::Case;

constexpr Backend kBackends[] = {Backend::kHardware, Backend::kCuda, Backend::kHybrid};

/// The engines do as libjpeg's accurate integer transform; nvJPEG's kernels round to other sides.
int sample_bound(Backend backend) { return backend == Backend::kHardware ? 0 : 1; }

struct Entry {
  std::vector<std::uint8_t> bytes;
  std::string name;
  std::unique_ptr<jpeg::JpegFile> file;
};

std::vector<const jpeg::JpegFile*> files_of(const std::vector<Entry>& entries) {
  std::vector<const jpeg::JpegFile*> files;
  for (const Entry& entry : entries) files.push_back(entry.file.get());
  return files;
}

Entry make_entry(const Case& c) {
  Entry entry{conformance::make_jpeg(c), c.name(), nullptr};
  entry.file = std::make_unique<jpeg::JpegFile>(conformance::parse_or_die(entry.bytes));
  return entry;
}

codec::Plane fetch(const DevicePlane& from) {
  codec::Plane plane;
  EXPECT_TRUE(codec::nvjpeg::copy_out(from, plane, nullptr));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  return plane;
}

class NvjpegDecode : public GpuTestWith<Backend> {
 protected:
  void SetUp() override {
    require_gpu();
    if (IsSkipped()) return;
    auto stream = gpu::Stream::make();
    ASSERT_TRUE(stream);
    stream_.emplace(std::move(*stream));
    auto decoder = NvjpegDecoder::make(GetParam());
    if (!decoder) GTEST_SKIP() << decoder.error().to_string();
    decoder_.emplace(std::move(*decoder));
  }

  void decode(const std::vector<Entry>& entries) {
    const auto files = files_of(entries);
    const auto enqueued = decoder_->enqueue(files, stream_->get());
    ASSERT_TRUE(enqueued) << enqueued.error().to_string();
    const auto done = stream_->synchronise();
    ASSERT_TRUE(done) << done.error().to_string();
  }

  void expect_planes_of_libjpeg(const Entry& entry, std::size_t image) {
    SCOPED_TRACE(entry.name);
    const auto& status = decoder_->status(image);
    ASSERT_TRUE(status) << status.error().to_string();
    const auto expected = conformance::libjpeg_planes(entry.bytes);
    ASSERT_TRUE(expected);
    for (std::size_t c = 0; c < expected->planes.size(); ++c) {
      const auto distance =
          conformance::distance(fetch(decoder_->plane(image, c)), expected->planes[c]);
      EXPECT_LE(distance.largest, sample_bound(GetParam())) << "component " << c;
    }
  }

  std::optional<gpu::Stream> stream_;
  std::optional<NvjpegDecoder> decoder_;
};

std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return std::string(to_string(info.param));
}

TEST_P(NvjpegDecode, PlanesAreThoseOfLibjpeg) {
  for (const conformance::Layout& layout : conformance::all_layouts()) {
    for (const conformance::Coding& coding : conformance::all_codings()) {
      std::vector<Entry> taken;
      const auto cases = conformance::cases_of(layout, coding);
      for (const Case& c : cases) {
        Entry entry = make_entry(c);
        if (decoder_->check(*entry.file)) taken.push_back(std::move(entry));
      }
      RecordProperty(layout.name + "_" + coding.name, static_cast<int>(taken.size()));
      const bool plain = coding.name == conformance::all_codings()[0].name;
      // What every backend takes, but for a few refused restart intervals; of the rest, whatever a
      // backend does take must be right.
      for (const char* name : {"gray", "444", "422", "420", "440"}) {
        if (plain && layout.name == name) {
          EXPECT_GE(taken.size(), cases.size() * 9 / 10) << name;
        }
      }
      if (taken.empty()) continue;
      decode(taken);
      for (std::size_t i = 0; i < taken.size() && !HasFatalFailure(); ++i) {
        expect_planes_of_libjpeg(taken[i], i);
      }
    }
  }
}

TEST_P(NvjpegDecode, ShortRestartSegmentsAreRightOrRefused) {
  std::vector<Entry> taken;
  for (const char* layout : {"gray", "444", "420"}) {
    for (const char* coding : {"baseline", "optimized", "separate_scans"}) {
      for (const int quality : {1, 10, 50}) {
        for (const int interval : {1, 2, 3, 4, 6, 7, 8, 12, 64}) {
          Entry entry = make_entry({.layout = conformance::layout(layout),
                                    .coding = conformance::coding(coding),
                                    .width_px = 250,
                                    .height_px = 131,
                                    .quality = quality,
                                    .restart_interval_mcus = interval,
                                    .seed = 3});
          if (decoder_->check(*entry.file)) taken.push_back(std::move(entry));
        }
      }
    }
  }
  EXPECT_GT(taken.size(), 100u);
  decode(taken);
  for (std::size_t i = 0; i < taken.size(); ++i) expect_planes_of_libjpeg(taken[i], i);
}

/// Of sizes that differ, so that a mistake in layout shows.
std::vector<Entry> good_images() {
  std::vector<Entry> entries;
  for (const int size : {33, 250, 640}) {
    for (const char* layout : {"420", "444"}) {
      entries.push_back(make_entry({.layout = conformance::layout(layout),
                                    .coding = conformance::all_codings()[0],
                                    .width_px = size + 7,
                                    .height_px = size,
                                    .seed = 3}));
    }
  }
  return entries;
}

TEST_P(NvjpegDecode, LargeBatchesDecodeLikeSmallOnes) {
  std::vector<Entry> entries;
  for (int i = 0; i < 12; ++i) {  // above 50 images another path of kCuda is taken
    for (Entry& entry : good_images()) entries.push_back(std::move(entry));
  }
  decode(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) expect_planes_of_libjpeg(entries[i], i);
}

TEST_P(NvjpegDecode, OneDecoderTakesBatchesOfAllSizesInTurn) {
  std::vector<Entry> entries = good_images();
  for (int round = 0; round < 2; ++round) {
    for (std::size_t count = entries.size(); count > 0; --count) {
      std::vector<Entry> some;
      for (std::size_t i = 0; i < count; ++i) {
        some.push_back(make_entry({.layout = conformance::layout("420"),
                                   .coding = conformance::all_codings()[0],
                                   .width_px = 40 + 100 * static_cast<int>(i),
                                   .height_px = 90,
                                   .seed = 5}));
      }
      decode(some);
      for (std::size_t i = 0; i < count; ++i) expect_planes_of_libjpeg(some[i], i);
    }
  }
}

/// The first planes of a batch, one behind the other, as a stream has them when it gets there.
class SavedPlanes {
 public:
  explicit SavedPlanes(std::size_t bytes)
      : memory_(gpu::Buffer::make(gpu::BufferKind::kDevice, bytes).value()) {}

  void enqueue(const NvjpegDecoder& decoder, std::size_t images, cudaStream_t stream) {
    std::uint8_t* to = memory_.data();
    for (std::size_t i = 0; i < images; ++i) {
      const DevicePlane from = decoder.plane(i, 0);
      const auto width = static_cast<std::size_t>(from.width_px);
      ASSERT_EQ(cudaMemcpy2DAsync(to, width, from.samples, from.pitch_bytes, width, from.height_px,
                                  cudaMemcpyDeviceToDevice, stream),
                cudaSuccess);
      planes_.push_back({to, from.width_px, from.height_px, from.width_px});
      to += sample_count(from);
    }
    ASSERT_LE(to, memory_.data() + memory_.bytes());
  }
  [[nodiscard]] codec::Plane plane(std::size_t image) const { return fetch(planes_[image]); }

 private:
  gpu::Buffer memory_;
  std::vector<DevicePlane> planes_;
};

/// The JPEG engines write when nvJPEG is called, not when the stream gets there (pytorch/vision
/// issue 9606): what the stream reads of the batch before would be overwritten, and what it reads
/// of this one would be missing. Nothing here waits on the host between two batches.
TEST_P(NvjpegDecode, BatchesKeepTheOrderOfTheStream) {
  constexpr std::size_t kImages = 24;
  constexpr int kBatches = 8;
  std::vector<Entry> entries[2];  // of the same sizes, so that the second takes the first's memory
  for (std::uint32_t seed = 0; seed < 2 * kImages; ++seed) {
    entries[seed % 2].push_back(make_entry({.layout = conformance::layout("420"),
                                            .coding = conformance::all_codings()[0],
                                            .width_px = 500,
                                            .height_px = 375,
                                            .seed = seed}));
  }
  auto slow = gpu::Buffer::make(gpu::BufferKind::kDevice, std::size_t{256} << 20).value();
  std::vector<SavedPlanes> saved;
  for (int i = 0; i < kBatches; ++i) {
    saved.emplace_back(kImages * 500 * 375);
    const auto files = files_of(entries[i % 2]);
    const auto enqueued = decoder_->enqueue(files, stream_->get());
    ASSERT_TRUE(enqueued) << enqueued.error().to_string();
    if (i % 4 != 3) {  // also without anything between the engines and who reads
      for (int turn = 0; turn < 40; ++turn) {
        ASSERT_EQ(cudaMemsetAsync(slow.data(), turn, slow.bytes(), stream_->get()), cudaSuccess);
      }
    }
    saved.back().enqueue(*decoder_, kImages, stream_->get());
  }
  ASSERT_TRUE(stream_->synchronise());
  for (int set = 0; set < 2; ++set) {
    for (std::size_t image = 0; image < kImages; ++image) {
      const auto expected = conformance::libjpeg_planes(entries[set][image].bytes);
      ASSERT_TRUE(expected);
      for (int i = set; i < kBatches; i += 2) {
        const auto found = saved[static_cast<std::size_t>(i)].plane(image);
        EXPECT_LE(conformance::distance(found, expected->planes[0]).largest,
                  sample_bound(GetParam()))
            << "batch " << i << ", image " << image;
      }
    }
  }
}

/// Flips bytes of the entropy-coded data, which no header check can see.
Entry damaged(Entry entry) {
  const jpeg::Scan& scan = entry.file->scans[0];
  for (std::size_t i = scan.entropy_bytes / 4; i < scan.entropy_bytes; i += 11) {
    entry.bytes[scan.entropy_offset + i] ^= 0x5A;
  }
  entry.file = std::make_unique<jpeg::JpegFile>(conformance::parse_or_die(entry.bytes));
  entry.name += " damaged";
  return entry;
}

TEST_P(NvjpegDecode, DamagedImagesLeaveTheirNeighboursAlone) {
  std::vector<Entry> entries = good_images();
  std::vector<bool> sound(entries.size(), true);
  for (Entry& entry : good_images()) {
    Entry bad = damaged(std::move(entry));
    if (!decoder_->check(*bad.file)) continue;
    entries.insert(entries.begin() + 2, std::move(bad));
    sound.insert(sound.begin() + 2, false);
  }
  ASSERT_GT(entries.size(), 6u) << "no damaged file was taken";
  decode(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (sound[i]) expect_planes_of_libjpeg(entries[i], i);
  }
}

std::vector<Entry> hostile_files() {
  namespace fs = std::filesystem;
  std::vector<Entry> entries;
  const char* root = std::getenv("FRAMEWIRE_CORPUS");
  if (root == nullptr) return entries;
  Limits limits;
  limits.max_input_pixels = 4'000'000;
  for (const auto& path : fs::recursive_directory_iterator(fs::path(root) / "hostile")) {
    if (!path.is_regular_file() || path.file_size() > 600'000) continue;
    Entry entry;
    std::ifstream in(path.path(), std::ios::binary);
    entry.bytes.assign(std::istreambuf_iterator<char>(in), {});
    entry.name = path.path().filename();
    auto file = jpeg::parse(entry.bytes, limits);
    if (!file || !jpeg::check_supported(*file)) continue;
    entry.file = std::make_unique<jpeg::JpegFile>(std::move(*file));
    entries.push_back(std::move(entry));
  }
  return entries;
}

TEST_P(NvjpegDecode, HostileFilesLeaveTheirNeighboursAlone) {
  if (std::getenv("FRAMEWIRE_CORPUS") == nullptr) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  std::vector<Entry> hostile = hostile_files();
  ASSERT_GT(hostile.size(), 100u);
  std::erase_if(hostile, [&](const Entry& e) { return !decoder_->check(*e.file); });
  RecordProperty("taken", static_cast<int>(hostile.size()));
  int failed = 0;
  for (std::size_t begin = 0; begin < hostile.size(); begin += 24) {
    std::vector<Entry> batch = good_images();
    const std::size_t good = batch.size();
    for (std::size_t i = begin; i < std::min(begin + 24, hostile.size()); ++i) {
      batch.push_back(std::move(hostile[i]));
    }
    decode(batch);
    if (HasFatalFailure()) return;
    for (std::size_t i = 0; i < good; ++i) expect_planes_of_libjpeg(batch[i], i);
    for (std::size_t i = good; i < batch.size(); ++i) failed += decoder_->status(i) ? 0 : 1;
  }
  RecordProperty("failed", failed);
}

TEST_P(NvjpegDecode, TheCodecGivesTheSameFromManyThreads) {
  const auto codec = codec::make_nvjpeg_codec(GetParam());
  const std::vector<Entry> entries = good_images();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const Entry& entry : entries) {
        codec::CodecOutcome outcome;
        const auto planes = codec->decode(*entry.file, plan::kFullScale, {}, outcome);
        ASSERT_TRUE(planes) << planes.error().to_string();
        const auto expected = conformance::libjpeg_planes(entry.bytes);
        for (std::size_t c = 0; c < expected->planes.size(); ++c) {
          EXPECT_LE(conformance::distance(planes->planes[c], expected->planes[c]).largest,
                    sample_bound(GetParam()))
              << entry.name;
        }
      }
    });
  }
}

TEST_P(NvjpegDecode, TheCodecRefusesWhatItCannotKeep) {
  const auto codec = codec::make_nvjpeg_codec(GetParam());
  const Entry entry = std::move(good_images()[0]);
  codec::CodecOutcome outcome;
  const auto reduced = codec->decode(*entry.file, {4, 4, 4, 4}, {}, outcome);
  ASSERT_FALSE(reduced);
  EXPECT_EQ(reduced.error().code(), StatusCode::kUnsupported);
  codec::Context strict;
  strict.strict = true;
  const auto refused = codec->decode(*entry.file, plan::kFullScale, strict, outcome);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(Backends, NvjpegDecode, testing::ValuesIn(kBackends), backend_name);

}  // namespace
}  // namespace framewire::gpu_tests
#endif
