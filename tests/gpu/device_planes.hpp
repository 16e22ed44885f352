// What tests of pictures in device memory share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <cstdint>
#include <framewire/device.hpp>
#include <memory>
#include <span>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>

namespace framewire::gpu_tests {

class OwnedStream {
 public:
  OwnedStream() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~OwnedStream() { (void)cudaStreamDestroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline Bytes download(const DevicePlane& plane) {
  const auto width = static_cast<std::size_t>(plane.width_px);
  const auto height = static_cast<std::size_t>(plane.height_px);
  Bytes samples(width * height);
  EXPECT_EQ(cudaMemcpy2D(samples.data(), width, plane.samples,
                         static_cast<std::size_t>(plane.pitch_bytes), width, height,
                         cudaMemcpyDeviceToHost),
            cudaSuccess);
  return samples;
}

/// Memory of the current device that anybody holds.
inline std::uint64_t used_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return total - free;
}

/// Two pictures of one size, a stream, and what the tests do with them.
class DeviceApiMemory : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    stream_ = std::make_unique<OwnedStream>();
  }
  [[nodiscard]] CudaStream stream() const { return CudaStream(stream_->get()); }
  /// Decodes one file, which must succeed.
  DeviceImage decoded(DeviceDecoder& decoder, const Bytes& jpeg) {
    const std::span<const std::uint8_t> view(jpeg);
    EXPECT_TRUE(decoder.decode({&view, 1}, 8, stream()));
    EXPECT_TRUE(decoder.wait());
    return value_of(Result<DeviceImage>(decoder.image(0)));
  }
  /// The same into memory of the test's. @return what became of it
  Result<DeviceImage> decoded_at(DeviceDecoder& decoder, const Bytes& jpeg,
                                 std::span<const DevicePlaneTarget> planes, int scale = 8) {
    const DeviceDecodeItem item{jpeg, planes};
    EXPECT_TRUE(decoder.decode({&item, 1}, scale, stream()));
    EXPECT_TRUE(decoder.wait());
    return decoder.image(0);
  }

  const Bytes first_ = draw({208, 160, JCS_YCbCr, 2, 2, 90});
  const Bytes second_ = draw({208, 160, JCS_YCbCr, 2, 2, 20});
  std::unique_ptr<OwnedStream> stream_;
};

}  // namespace framewire::gpu_tests
