// How long decoded planes stay, and when their memory is used again.
#include <gmock/gmock.h>
#include <array>
#include <cstdlib>
#include <framewire/device.hpp>
#include <optional>
#include <tests/gpu/device_planes.hpp>
#include <thread>
#include <type_traits>

namespace framewire::gpu_tests {
namespace {

using testing::HasSubstr;

static_assert(!std::is_constructible_v<CudaStream, std::nullptr_t>);
static_assert(!std::is_convertible_v<void*, CudaStream>);

/// What one picture of the fixture takes of a pool.
constexpr std::uint64_t kPictureBytes = 64 << 10;

TEST_F(DeviceApiMemory, AnImageStaysOverTheNextDecode) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const DeviceImage image = decoded(decoder, first_);
  const Bytes expected = download(image.planes[0]);
  const DeviceImage other = decoded(decoder, second_);
  EXPECT_NE(image.planes[0].samples, other.planes[0].samples);
  EXPECT_EQ(download(image.planes[0]), expected);
  EXPECT_NE(download(other.planes[0]), expected);
}

TEST_F(DeviceApiMemory, AnImageOutlivesItsDecoder) {
  DeviceImage image;
  Bytes expected;
  {
    DeviceDecoder decoder = value_of(DeviceDecoder::make());
    image = decoded(decoder, first_);
    EXPECT_EQ(image.device, 0);
    EXPECT_TRUE(image.owns_memory());
    expected = download(image.planes[2]);
  }
  EXPECT_EQ(download(image.planes[2]), expected);
}

TEST_F(DeviceApiMemory, DroppedMemoryIsUsedAgain) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const std::uint8_t* const where = decoded(decoder, first_).planes[0].samples;
  EXPECT_EQ(decoded(decoder, second_).planes[0].samples, where);
}

TEST_F(DeviceApiMemory, MemoryGoesWithTheLastCopy) {
  const std::uint64_t before = used_bytes();
  std::optional<DeviceImage> copy;
  {
    DeviceDecoder decoder = value_of(DeviceDecoder::make());
    const DeviceImage image = decoded(decoder, first_);
    copy = image;
  }
  if (emulated()) {
    EXPECT_EQ(used_bytes(), before + kPictureBytes);
  }
  const std::uint8_t* const where = copy->planes[0].samples;
  copy.reset();
  if (emulated()) {
    EXPECT_EQ(used_bytes(), before);
  }
#if defined(__SANITIZE_ADDRESS__)
  if (emulated()) {
    EXPECT_DEATH((void)*static_cast<const volatile std::uint8_t*>(where), "use-after");
  }
#endif
  EXPECT_NE(where, nullptr);
}

TEST_F(DeviceApiMemory, ThePoolIsBoundedAndOtherImagesGoOn) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make(0, {2 * kPictureBytes}));
  const std::vector<std::span<const std::uint8_t>> jpegs(3, first_);
  ASSERT_TRUE(decoder.decode(jpegs, 8, stream()));
  ASSERT_TRUE(decoder.wait());
  ASSERT_TRUE(decoder.image(0) && decoder.image(1));
  EXPECT_EQ(download(decoder.image(0)->planes[0]), download(decoder.image(1)->planes[0]));
  ASSERT_FALSE(decoder.image(2));
  EXPECT_EQ(decoder.image(2).error().code(), StatusCode::kBusy);
  EXPECT_THAT(decoder.image(2).error().message(), HasSubstr("at most 131072 bytes"));
  const DeviceImage kept = *decoder.image(0);
  ASSERT_TRUE(decoder.decode(std::span(jpegs).first(2), 8, stream()));
  ASSERT_TRUE(decoder.wait());
  EXPECT_TRUE(decoder.image(0));
  EXPECT_FALSE(decoder.image(1)) << "a kept image counts";
}

TEST_F(DeviceApiMemory, MemoryOfAnotherSizeIsMadeRoomOf) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make(0, {4 * kPictureBytes}));
  const std::vector<std::span<const std::uint8_t>> jpegs(4, first_);
  ASSERT_TRUE(decoder.decode(jpegs, 8, stream()));
  ASSERT_TRUE(decoder.wait());
  const Bytes large = draw({400, 400, JCS_YCbCr, 2, 2, 90});
  EXPECT_EQ(decoded(decoder, large).planes[0].width_px, 400);
  EXPECT_EQ(decoded(decoder, first_).planes[0].width_px, 208);
}

TEST_F(DeviceApiMemory, WhereTheDeviceIsFullMemoryThatNobodyUsesIsFreed) {
  if (!emulated()) GTEST_SKIP() << "only the emulation's memory can be made small";
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const Bytes large = draw({400, 400, JCS_YCbCr, 2, 2, 90});
  // All that decoding itself needs, and nothing in the pool.
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 1 << 20), cudaSuccess);
  const auto at = [&](std::uint64_t offset) {
    return DevicePlaneTarget{static_cast<std::uint8_t*>(memory) + offset, 400, 160'000};
  };
  const std::array planes{at(0), at(160'000), at(320'000)};
  const DeviceDecodeItem own{large, planes};
  ASSERT_TRUE(decoder.decode({&own, 1}, 8, stream()));
  ASSERT_TRUE(decoder.wait());
  ASSERT_TRUE(decoder.image(0));
  const std::vector<std::span<const std::uint8_t>> jpegs(4, first_);
  ASSERT_TRUE(decoder.decode(jpegs, 8, stream()));
  ASSERT_TRUE(decoder.wait());
  ASSERT_EQ(setenv("FRAMEWIRE_EMULATED_BYTES",
                   std::to_string(used_bytes() + kPictureBytes / 2).c_str(), 1),
            0);
  EXPECT_EQ(decoded(decoder, large).planes[0].width_px, 400);
  ASSERT_EQ(unsetenv("FRAMEWIRE_EMULATED_BYTES"), 0);
  (void)cudaFree(memory);
}

/// A copy of an image's first plane that a stream has not yet made, behind more work than the
/// emulation does while somebody asks how far it is.
class LateCopy {
 public:
  explicit LateCopy(const DeviceImage& image)
      : width_(static_cast<std::size_t>(image.planes[0].width_px)),
        height_(static_cast<std::size_t>(image.planes[0].height_px)) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, width_ * height_), cudaSuccess);
    memory_ = static_cast<std::uint8_t*>(memory);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(cudaMemsetAsync(memory_, i, width_ * height_, stream_.get()), cudaSuccess);
    }
    EXPECT_EQ(cudaMemcpy2DAsync(memory_, width_, image.planes[0].samples,
                                static_cast<std::size_t>(image.planes[0].pitch_bytes), width_,
                                height_, cudaMemcpyDeviceToDevice, stream_.get()),
              cudaSuccess);
  }
  ~LateCopy() { (void)cudaFree(memory_); }
  LateCopy(const LateCopy&) = delete;
  LateCopy& operator=(const LateCopy&) = delete;
  [[nodiscard]] CudaStream stream() const { return CudaStream(stream_.get()); }
  [[nodiscard]] Bytes bytes() const {
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    Bytes bytes(width_ * height_);
    EXPECT_EQ(cudaMemcpy(bytes.data(), memory_, bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
  }

 private:
  OwnedStream stream_;
  std::size_t width_, height_;
  std::uint8_t* memory_ = nullptr;
};

TEST_F(DeviceApiMemory, MemoryIsUsedAgainAfterTheWorkThatWasRecorded) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make(0, {kPictureBytes}));
  DeviceImage image = decoded(decoder, first_);
  const Bytes expected = download(image.planes[0]);
  const std::uint8_t* const where = image.planes[0].samples;
  const LateCopy copy(image);
  ASSERT_TRUE(image.record(copy.stream()));
  image = {};
  // The pool has no other block: decoding waits for the copy.
  image = decoded(decoder, second_);
  if (emulated()) {
    EXPECT_EQ(image.planes[0].samples, where);
  }
  EXPECT_EQ(copy.bytes(), expected);
}

TEST_F(DeviceApiMemory, MemoryInUseIsNotTakenWhereThereIsOther) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  DeviceImage image = decoded(decoder, first_);
  const std::uint8_t* const where = image.planes[0].samples;
  const LateCopy copy(image);
  ASSERT_TRUE(image.record(copy.stream()));
  image = {};
  if (emulated()) {
    EXPECT_NE(decoded(decoder, second_).planes[0].samples, where);
  }
  EXPECT_EQ(copy.bytes().size(), 208u * 160u);
}

TEST_F(DeviceApiMemory, AnImageWithoutItsDecoderIsFreedAfterTheWorkThatWasRecorded) {
  std::optional<DeviceImage> image;
  {
    DeviceDecoder decoder = value_of(DeviceDecoder::make());
    image = decoded(decoder, first_);
  }
  const Bytes expected = download(image->planes[0]);
  const LateCopy copy(*image);
  ASSERT_TRUE(image->record(copy.stream()));
  image.reset();
  EXPECT_EQ(copy.bytes(), expected);
}

TEST_F(DeviceApiMemory, ThreadsMayDropCopiesAtAnyTime) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make(0, {8 * kPictureBytes}));
  const std::vector<std::span<const std::uint8_t>> jpegs(4, first_);
  std::vector<std::jthread> threads;
  for (int round = 0; round < 6; ++round) {
    ASSERT_TRUE(decoder.decode(jpegs, 8, stream()));
    ASSERT_TRUE(decoder.wait());
    for (std::size_t i = 0; i < jpegs.size(); ++i) {
      if (!decoder.image(i)) continue;  // the others still hold the memory
      threads.emplace_back([copy = *decoder.image(i), to = stream()] {
        EXPECT_TRUE(copy.record(to));
        EXPECT_EQ(DeviceImage(copy).planes[0].width_px, 208);
      });
    }
  }
}

TEST_F(DeviceApiMemory, ANullStreamIsRefusedAndDefaultsAreNamed) {
  void* const null = nullptr;
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  DeviceEncoder encoder = value_of(DeviceEncoder::make());
  const DeviceImage image = decoded(decoder, first_);
  const std::span<const std::uint8_t> view(first_);
  const DeviceEncodeItem item{std::span(image.planes).first(3), {}};
  const Result<void> refused[] = {decoder.decode({&view, 1}, 8, CudaStream(null)),
                                  encoder.encode({&item, 1}, CudaStream(null)),
                                  image.record(CudaStream(null))};
  for (const Result<void>& one : refused) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code(), StatusCode::kInvalidInput);
    EXPECT_THAT(one.error().message(), HasSubstr("legacy_default"));
  }
  for (const CudaStream named : {CudaStream::legacy_default(), CudaStream::per_thread_default()}) {
    EXPECT_FALSE(named.is_null());
    EXPECT_TRUE(decoder.decode({&view, 1}, 8, named));
    EXPECT_TRUE(decoder.wait());
    EXPECT_EQ(download(decoder.image(0)->planes[0]), download(image.planes[0]));
    EXPECT_TRUE(decoder.image(0)->record(named));
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
