// Every way into and out of a batch: the file's scans, coefficients from the host, planes of
// somebody else; streams, resampled planes, decoded planes. And the order among streams.
#include <codec/cuda/transcoder.hpp>
#include <codec/reference/reference_codec.hpp>
#include <tests/gpu/device_planes.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::Item;
using codec::cuda::Transcoder;

Bytes copy_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

using Sources = GpuTest;

TEST_F(Sources, CoefficientsFromTheHostGiveTheSameStreams) {
  for (const auto& [width, height] : {std::pair(16, 9), std::pair(60, 40), std::pair(300, 300)}) {
    std::vector<std::unique_ptr<OwnedItem>> owned;
    std::vector<Item> items;
    for (const sample::Spec& spec : specs()) {
      for (const bool uploaded : {false, true}) {
        owned.push_back(std::make_unique<OwnedItem>(draw(spec), resize_to(width, height)));
        if (uploaded) owned.back()->use_coefficients();
        items.push_back(owned.back()->item);
        ASSERT_TRUE(codec::cuda::check_item(items.back()));
      }
    }
    Transcoder transcoder = value_of(Transcoder::make());
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < items.size(); i += 2) {
      SCOPED_TRACE(i);
      ASSERT_EQ(transcoder.result(i).status, 0u);
      ASSERT_EQ(transcoder.result(i + 1).status, 0u);
      EXPECT_GT(transcoder.result(i).bytes.size(), 100u);
      EXPECT_EQ(copy_of(transcoder.result(i).bytes), copy_of(transcoder.result(i + 1).bytes));
    }
  }
}

/// Sound files, and some that are cut off.
std::vector<Bytes> whole_and_cut() {
  std::vector<Bytes> files;
  for (const sample::Spec& spec : specs()) {
    files.push_back(draw(spec));
    if (spec.width_px == 131) files.emplace_back(files.back().begin(), files.back().end() - 40);
  }
  return files;
}

/// Files lie at every alignment, side by side or far apart, in the order of the batch or against
/// it, among bytes that would end or restart a scan.
TEST_F(Sources, PinnedFilesGiveTheSameStreams) {
  const std::vector<Bytes> files = whole_and_cut();
  std::vector<std::unique_ptr<OwnedItem>> owned;
  std::vector<Item> plain;
  for (const Bytes& file : files) {
    owned.push_back(std::make_unique<OwnedItem>(file, resize_to(60, 40)));
    plain.push_back(owned.back()->item);
  }
  Transcoder expected = value_of(Transcoder::make());
  ASSERT_TRUE(expected.enqueue(plain));
  ASSERT_TRUE(expected.wait());
  EXPECT_TRUE(expected.batch().decode().fetches().empty());

  const gpu::Buffer pinned = value_of(gpu::Buffer::make(gpu::BufferKind::kPinned, 16 << 20));
  for (const bool backwards : {false, true}) {
    for (std::size_t i = 0; i < pinned.bytes(); ++i) pinned.data()[i] = i % 2 == 0 ? 0xFF : 0xD0;
    std::vector<Item> items(files.size());
    std::uint8_t* at = pinned.data();
    for (std::size_t k = 0; k < files.size(); ++k) {
      const std::size_t i = backwards ? files.size() - 1 - k : k;
      owned[i] = std::make_unique<OwnedItem>(files[i], resize_to(60, 40));
      at = owned[i]->pin(at + k % 17 + (k % 5 == 0 ? codec::kPinnedGuardBytes : 0));
      items[i] = owned[i]->item;
    }
    ASSERT_LT(at + codec::kPinnedGuardBytes, pinned.data() + pinned.bytes());
    Transcoder transcoder = value_of(Transcoder::make());
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    const std::size_t copies = transcoder.batch().decode().fetches().size();
    EXPECT_EQ(copies, backwards ? files.size() : (files.size() + 4) / 5);
    for (std::size_t i = 0; i < items.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(transcoder.result(i).status, expected.result(i).status);
      EXPECT_EQ(copy_of(transcoder.result(i).bytes), copy_of(expected.result(i).bytes));
    }
  }
}

TEST_F(Sources, APinnedFileTwiceInABatchIsCopiedTwice) {
  const gpu::Buffer pinned = value_of(gpu::Buffer::make(gpu::BufferKind::kPinned, 1 << 20));
  OwnedItem owned(draw({}), resize_to(60, 40));
  owned.pin(pinned.data() + 3);
  const std::vector<Item> items{owned.item, owned.item};
  Transcoder transcoder = value_of(Transcoder::make());
  ASSERT_TRUE(transcoder.enqueue(items));
  ASSERT_TRUE(transcoder.wait());
  EXPECT_EQ(transcoder.batch().decode().fetches().size(), 2u)
      << "or a benchmark would not show the bus";
  EXPECT_EQ(transcoder.result(0).status, 0u);
  EXPECT_EQ(copy_of(transcoder.result(0).bytes), copy_of(transcoder.result(1).bytes));
}

TEST_F(Sources, CoefficientsFromTheHostGiveTheSamePlanes) {
  for (const int scale : {8, 6, 5, 4, 2, 1}) {
    std::vector<std::unique_ptr<OwnedItem>> owned;
    std::vector<Item> items;
    for (const sample::Spec& spec : specs()) {
      for (const bool uploaded : {false, true}) {
        owned.push_back(std::make_unique<OwnedItem>(draw(spec), scale));
        if (uploaded) owned.back()->use_coefficients();
        items.push_back(owned.back()->item);
      }
    }
    Transcoder transcoder = value_of(Transcoder::make());
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < items.size(); i += 2) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(items[i].file->frame.component_count);
           ++c) {
        SCOPED_TRACE(i * 10 + c);
        EXPECT_EQ(download(transcoder.plane(i, c)), download(transcoder.plane(i + 1, c)));
      }
    }
  }
}

/// Files whose coefficients come from the host, in one batch with one whose scans do.
TEST_F(Sources, ProgressiveAndArithmeticFilesGiveTheReferencesPlanes) {
  const auto reference = codec::make_reference_codec();
  for (const int scale : {8, 6, 5, 4, 2, 1}) {
    std::vector<std::unique_ptr<OwnedItem>> owned;
    std::vector<Item> items;
    for (sample::Spec spec : specs()) {
      for (const int kind : {0, 1, 2, 3}) {
        spec.progressive = kind % 2 == 1;
        spec.arithmetic = kind >= 2;
        if (spec.progressive) spec.separate_scans = false;
        owned.push_back(std::make_unique<OwnedItem>(draw(spec), scale));
        EXPECT_EQ(codec::cuda::check_item(owned.back()->item).has_value(), kind <= 1);
        if (kind != 0) owned.back()->use_coefficients();
        items.push_back(owned.back()->item);
        ASSERT_TRUE(codec::cuda::check_item(items.back()));
      }
    }
    Transcoder transcoder = value_of(Transcoder::make());
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < items.size(); ++i) {
      ASSERT_EQ(transcoder.result(i).status, 0u);
      codec::CodecOutcome outcome;
      const auto expected =
          value_of(reference->decode(*items[i].file, items[i].scales, {}, outcome));
      for (std::size_t c = 0; c < expected.planes.size(); ++c) {
        const Bytes samples = download(transcoder.plane(i, c));
        EXPECT_LE(sample::difference(samples, expected.planes[c].samples).largest, 1) << i;
      }
    }
  }
}

/// Planes from one transcoder to the next over a caller's stream, with no wait of the host between.
TEST_F(Sources, PlanesInDeviceMemoryGoOnWithTheResampler) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  Transcoder first = value_of(Transcoder::make());
  Transcoder second = value_of(Transcoder::make());
  for (int seed = 0; seed < 20; ++seed) {
    sample::Spec spec;
    spec.width_px = 1200 + seed;
    spec.height_px = 700 + seed * 3;
    spec.h = spec.v = 2;
    // No more than halved: both decode at full size.
    OwnedItem whole(draw(spec, seed), resize_to(spec.width_px * 2 / 3, spec.height_px * 2 / 3));
    ASSERT_EQ(whole.item.plan->scales[0], 8);
    Item decode = whole.item;
    decode.plan = nullptr;
    const std::vector<Item> both{whole.item, decode};
    ASSERT_TRUE(first.enqueue(both));
    ASSERT_TRUE(first.make_wait(stream));
    const std::vector<DevicePlane> planes{first.plane(1, 0), first.plane(1, 1), first.plane(1, 2)};
    Item from_planes = whole.item;
    from_planes.file = nullptr;
    from_planes.planes = planes;
    ASSERT_TRUE(codec::cuda::check_item(from_planes));
    ASSERT_TRUE(second.wait_for(stream));
    ASSERT_TRUE(second.enqueue({&from_planes, 1}));
    ASSERT_TRUE(second.make_wait(stream));
    ASSERT_TRUE(second.wait());
    ASSERT_TRUE(first.wait());
    ASSERT_EQ(first.result(0).status, 0u);
    ASSERT_EQ(second.result(0).status, 0u);
    EXPECT_EQ(copy_of(first.result(0).bytes), copy_of(second.result(0).bytes));
    EXPECT_EQ(second.plane(0, 0).samples, planes[0].samples);
  }
  (void)cudaStreamDestroy(stream);
}

TEST_F(Sources, KeptPlanesAreThoseThatAreEncoded) {
  sample::Spec spec;
  spec.width_px = 333;
  spec.height_px = 222;
  spec.h = spec.v = 2;
  OwnedItem encoded(draw(spec), resize_to(100, 77));
  OwnedItem kept(draw(spec), resize_to(100, 77));
  OwnedItem decoded(draw(spec), 8);
  kept.item.encode = false;
  const std::vector<Item> items{kept.item, decoded.item, encoded.item, kept.item};
  Transcoder transcoder = value_of(Transcoder::make());
  ASSERT_TRUE(transcoder.enqueue(items));
  ASSERT_TRUE(transcoder.wait());
  EXPECT_TRUE(transcoder.result(0).bytes.empty());
  EXPECT_TRUE(transcoder.result(1).bytes.empty());
  ASSERT_FALSE(transcoder.result(2).bytes.empty());
  EXPECT_EQ(transcoder.output_plane(0, 0).width_px, 100u);
  EXPECT_EQ(transcoder.output_plane(0, 1).height_px, 39u);
  for (std::size_t c = 0; c < 3; ++c) {
    const Bytes samples = download(transcoder.output_plane(2, c));
    EXPECT_EQ(download(transcoder.output_plane(0, c)), samples);
    EXPECT_EQ(download(transcoder.output_plane(3, c)), samples);
  }
  const auto read_back = sample::decode(transcoder.result(2).bytes);
  EXPECT_EQ(read_back.warnings, 0);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_LT(
        sample::difference(read_back.planes[c].samples, download(transcoder.output_plane(0, c)))
            .mean,
        8);
  }
}

/// Whoever forgets to wait gets the second batch right all the same.
TEST_F(Sources, EnqueueingTwiceWaitsForTheFirst) {
  sample::Spec spec;
  spec.width_px = 800;
  spec.height_px = 600;
  OwnedItem one(draw(spec, 1), resize_to(200, 150));
  OwnedItem two(draw(spec, 2), resize_to(200, 150));
  Transcoder transcoder = value_of(Transcoder::make());
  ASSERT_TRUE(transcoder.enqueue({&two.item, 1}));
  ASSERT_TRUE(transcoder.wait());
  const Bytes expected = copy_of(transcoder.result(0).bytes);
  ASSERT_TRUE(transcoder.enqueue({&one.item, 1}));
  ASSERT_TRUE(transcoder.enqueue({&two.item, 1}));
  ASSERT_TRUE(transcoder.wait());
  EXPECT_EQ(copy_of(transcoder.result(0).bytes), expected);
}

}  // namespace
}  // namespace framewire::gpu_tests
