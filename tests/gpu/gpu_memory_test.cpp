// The owners of src/gpu: what is copied to the device and back is unchanged, growing keeps
// promises.
#include <gpu/buffer.hpp>
#include <gpu/stream.hpp>
#include <numeric>
#include <tests/gpu/gpu.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

class GpuMemory : public GpuTest {};

TEST_F(GpuMemory, BytesComeBackAsTheyWent) {
  auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream) << stream.error().to_string();
  std::vector<std::uint8_t> sent(100'003);
  std::iota(sent.begin(), sent.end(), std::uint8_t{1});
  auto buffer = gpu::Buffer::make(gpu::BufferKind::kDevice, sent.size());
  ASSERT_TRUE(buffer) << buffer.error().to_string();
  std::vector<std::uint8_t> back(sent.size());
  ASSERT_EQ(cudaMemcpyAsync(buffer->data(), sent.data(), sent.size(), cudaMemcpyHostToDevice,
                            stream->get()),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), buffer->data(), back.size(), cudaMemcpyDeviceToHost,
                            stream->get()),
            cudaSuccess);
  ASSERT_TRUE(stream->synchronise());
  EXPECT_EQ(back, sent);
}

TEST_F(GpuMemory, ReservingLessKeepsTheAllocation) {
  gpu::Buffer buffer;
  ASSERT_TRUE(buffer.reserve(gpu::BufferKind::kDevice, 4096));
  const std::uint8_t* before = buffer.data();
  ASSERT_TRUE(buffer.reserve(gpu::BufferKind::kDevice, 100));
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer.bytes(), 4096u);
}

TEST_F(GpuMemory, MoreThanTheDeviceHasIsBusy) {
  auto buffer = gpu::Buffer::make(gpu::BufferKind::kDevice, std::size_t{1} << 50);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), StatusCode::kBusy);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the next batch would take this for its own";
}

}  // namespace
}  // namespace framewire::gpu_tests
