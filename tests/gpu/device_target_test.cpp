// Pictures decoded into memory of the caller's.
#include <gmock/gmock.h>
#include <array>
#include <framewire/device.hpp>
#include <tests/gpu/device_planes.hpp>

namespace framewire::gpu_tests {
namespace {

using testing::HasSubstr;

/// Planes of the test's in one allocation, garbage before.
class OwnPlanes {
 public:
  OwnPlanes(const DeviceImageShape& shape, bool whole, int device = 0) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
    memory_ = static_cast<std::uint8_t*>(memory);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    std::size_t at = whole ? 0 : 1;  // at an odd address
    for (std::size_t c = 0; c < static_cast<std::size_t>(shape.component_count); ++c) {
      const DevicePlaneShape& plane = shape.planes[c];
      const std::int32_t pitch = whole ? (plane.whole_width_px + 15) / 16 * 16 : plane.width_px;
      const auto rows = static_cast<std::uint64_t>(whole ? plane.whole_height_px : plane.height_px);
      targets_.push_back({memory_ + at, pitch, static_cast<std::uint64_t>(pitch) * rows});
      at += targets_.back().bytes + 16;
    }
  }
  ~OwnPlanes() { (void)cudaFree(memory_); }
  OwnPlanes(const OwnPlanes&) = delete;
  OwnPlanes& operator=(const OwnPlanes&) = delete;
  [[nodiscard]] std::vector<DevicePlaneTarget>& targets() { return targets_; }
  /// The bytes between two planes.
  [[nodiscard]] Bytes gap(std::size_t plane) const {
    Bytes bytes(16);
    EXPECT_EQ(cudaMemcpy(bytes.data(), targets_[plane].samples + targets_[plane].bytes, 16,
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    return bytes;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  std::uint8_t* memory_ = nullptr;
  std::vector<DevicePlaneTarget> targets_;
};

TEST_F(DeviceApiMemory, DecodesIntoTheCallersMemory) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const Bytes odd = draw({203, 157, JCS_YCbCr, 2, 2, 90});
  for (const int scale : {8, 6, 5, 4, 2, 1}) {
    const auto shape = value_of(DeviceDecoder::shape(odd, scale));
    const std::span<const std::uint8_t> view(odd);
    ASSERT_TRUE(decoder.decode({&view, 1}, scale, stream()));
    ASSERT_TRUE(decoder.wait());
    const DeviceImage expected = value_of(Result<DeviceImage>(decoder.image(0)));
    for (const bool whole : {true, false}) {
      SCOPED_TRACE(testing::Message() << scale << (whole ? " eighths, whole" : " eighths, tight"));
      OwnPlanes planes(shape, whole);
      const Bytes gap = planes.gap(0);
      const DeviceImage image = value_of(decoded_at(decoder, odd, planes.targets(), scale));
      EXPECT_FALSE(image.owns_memory());
      EXPECT_TRUE(image.record(stream()));
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(image.planes[c].samples, planes.targets()[c].samples);
        EXPECT_EQ(download(image.planes[c]), download(expected.planes[c]));
      }
      EXPECT_EQ(planes.gap(0), gap);
    }
  }
}

TEST_F(DeviceApiMemory, DamagedFilesReachTheCallersMemoryToo) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const Bytes half(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(first_.size() / 2));
  const DeviceImage expected = decoded(decoder, half);
  EXPECT_FALSE(expected.warnings.empty());
  for (const bool whole : {true, false}) {
    OwnPlanes planes(value_of(DeviceDecoder::shape(half, 8)), whole);
    const DeviceImage image = value_of(decoded_at(decoder, half, planes.targets()));
    EXPECT_EQ(download(image.planes[0]), download(expected.planes[0]));
  }
}

TEST_F(DeviceApiMemory, MemoryThatIsTooSmallIsRefusedAndSaysWhatIsNeeded) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  OwnPlanes planes(value_of(DeviceDecoder::shape(first_, 8)), false);
  const DeviceDecodeItem good{first_};
  const auto refused = [&](std::vector<DevicePlaneTarget> targets) {
    const std::array items{good, DeviceDecodeItem{first_, targets}, good};
    EXPECT_TRUE(decoder.decode(items, 8, stream()));
    EXPECT_TRUE(decoder.wait());
    EXPECT_TRUE(decoder.image(0) && decoder.image(2));
    EXPECT_FALSE(decoder.image(1));
    return decoder.image(1) ? Status(StatusCode::kInternal, "taken") : decoder.image(1).error();
  };
  std::vector<DevicePlaneTarget> targets = planes.targets();
  --targets[1].bytes;
  const Status bytes = refused(targets);
  EXPECT_EQ(bytes.code(), StatusCode::kTooLarge);
  EXPECT_EQ(bytes.subject(), "plane 1");
  EXPECT_THAT(bytes.message(),
              HasSubstr("104x80 samples need a pitch of 104 bytes and 8320 bytes"));
  targets = planes.targets();
  --targets[0].pitch_bytes;
  EXPECT_EQ(refused(targets).code(), StatusCode::kTooLarge);
  targets.pop_back();
  EXPECT_THAT(refused(targets).message(), HasSubstr("memory for 2 planes; the file has 3"));
}

TEST_F(DeviceApiMemory, MemoryOfAnotherDeviceOrTheHostIsRefused) {
  DeviceDecoder decoder = value_of(DeviceDecoder::make());
  const auto shape = value_of(DeviceDecoder::shape(first_, 8));
  OwnPlanes planes(shape, true);
  std::vector<std::uint8_t> host(std::size_t{1} << 16);
  planes.targets()[2].samples = host.data();
  const auto from_host = decoded_at(decoder, first_, planes.targets());
  ASSERT_FALSE(from_host);
  EXPECT_EQ(from_host.error().code(), StatusCode::kInvalidInput);
  EXPECT_THAT(from_host.error().message(), HasSubstr("not of a device"));
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "one device here";
  OwnPlanes far(shape, true, 1);
  const auto from_far = decoded_at(decoder, first_, far.targets());
  ASSERT_FALSE(from_far);
  EXPECT_THAT(from_far.error().message(), HasSubstr("of device 1; this decoder's is 0"));
}

}  // namespace
}  // namespace framewire::gpu_tests
