// Memory that grows in the order of a stream, and the streams for copies that others share.
#include <gpu/copy_streams.hpp>
#include <gpu/memory_pool.hpp>
#include <gpu/pinned_blocks.hpp>
#include <tests/gpu/gpu.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

using MemoryPools = GpuTest;
using PinnedBlocksOnGpu = GpuTest;
using CopyStreamsOnGpu = GpuTest;

constexpr std::size_t kPieceBytes = 1 << 20;

TEST_F(MemoryPools, BuffersGrowAndAreTheirStreams) {
  const auto pool =
      std::make_shared<const gpu::MemoryPool>(value_of(gpu::MemoryPool::make(16 * kPieceBytes)));
  const gpu::Stream stream = value_of(gpu::Stream::make());
  gpu::StreamBuffer one;
  gpu::StreamBuffer other;
  one.set_pool(pool);
  other.set_pool(pool);
  for (const std::size_t bytes : {kPieceBytes, kPieceBytes / 2, 3 * kPieceBytes}) {
    ASSERT_TRUE(one.reserve(bytes, stream));
    ASSERT_TRUE(other.reserve(bytes, stream));
    ASSERT_NE(one.data(), nullptr);
    EXPECT_GE(one.bytes(), bytes);
    (void)cudaMemsetAsync(one.data(), 1, bytes, stream.get());
    (void)cudaMemsetAsync(other.data(), 2, bytes, stream.get());
    std::vector<std::uint8_t> got(bytes);
    ASSERT_EQ(cudaMemcpyAsync(got.data(), one.data(), bytes, cudaMemcpyDeviceToHost, stream.get()),
              cudaSuccess);
    ASSERT_TRUE(stream.synchronise());
    EXPECT_EQ(got, std::vector<std::uint8_t>(bytes, 1));
  }
  EXPECT_EQ(one.bytes(), 3 * kPieceBytes) << "it never shrinks";
  gpu::StreamBuffer moved = std::move(one);
  EXPECT_EQ(one.bytes(), 0u);
  EXPECT_EQ(moved.bytes(), 3 * kPieceBytes);
}

TEST_F(MemoryPools, WhatIsTooMuchIsBusyAndHarmsNobody) {
  const auto pool =
      std::make_shared<const gpu::MemoryPool>(value_of(gpu::MemoryPool::make(kPieceBytes)));
  const gpu::Stream stream = value_of(gpu::Stream::make());
  gpu::StreamBuffer buffer;
  buffer.set_pool(pool);
  const auto refused = buffer.reserve(std::size_t{1} << 46, stream);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kBusy);
  EXPECT_EQ(buffer.bytes(), 0u);
  EXPECT_TRUE(buffer.reserve(kPieceBytes, stream));
}

TEST_F(MemoryPools, WithoutAPoolABufferIsAnOrdinaryOne) {
  const gpu::Stream stream = value_of(gpu::Stream::make());
  gpu::StreamBuffer buffer;
  ASSERT_TRUE(buffer.reserve(kPieceBytes, stream));
  EXPECT_NE(buffer.data(), nullptr);
}

TEST_F(PinnedBlocksOnGpu, WhatIsGivenBackIsTakenAgain) {
  gpu::PinnedBlocks pool(64 * kPieceBytes);
  gpu::Buffer first = value_of(pool.take(kPieceBytes));
  EXPECT_EQ(pool.kept_bytes(), 0u);
  std::uint8_t* const at = first.data();
  pool.give_back(std::move(first));
  EXPECT_EQ(pool.kept_bytes(), kPieceBytes);
  const gpu::Buffer other = value_of(pool.take(2 * kPieceBytes));
  EXPECT_NE(other.data(), at) << "it is too small";
  const gpu::Buffer tiny = value_of(pool.take(kPieceBytes / 8));
  EXPECT_NE(tiny.data(), at) << "it would be wasted";
  const gpu::Buffer again = value_of(pool.take(kPieceBytes / 5 * 4));
  EXPECT_EQ(again.data(), at);
  EXPECT_EQ(pool.kept_bytes(), 0u);
  EXPECT_EQ(pool.bytes(), again.bytes() + other.bytes() + tiny.bytes());
}

TEST_F(PinnedBlocksOnGpu, ABlockIsAtMostAQuarterLarger) {
  gpu::PinnedBlocks pool(64 * kPieceBytes);
  for (std::size_t bytes = 65'000; bytes < 4 * kPieceBytes; bytes += bytes / 7) {
    const gpu::Buffer block = value_of(pool.take(bytes));
    EXPECT_GE(block.bytes(), bytes);
    EXPECT_LE(block.bytes(), bytes + bytes / 4 + 1024);
  }
}

TEST_F(PinnedBlocksOnGpu, WhatLiesIdleIsBounded) {
  gpu::PinnedBlocks pool(4 * kPieceBytes);
  std::vector<gpu::Buffer> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(value_of(pool.take(kPieceBytes)));
  for (gpu::Buffer& block : blocks) pool.give_back(std::move(block));
  EXPECT_EQ(pool.kept_bytes(), 4 * kPieceBytes);
  gpu::Buffer large = value_of(pool.take(3 * kPieceBytes));
  EXPECT_EQ(pool.kept_bytes(), 0u) << "both together were too much";
  const gpu::Buffer small = value_of(pool.take(2 * kPieceBytes));
  pool.give_back(std::move(large));
  EXPECT_EQ(pool.kept_bytes(), 0u) << "freed";
}

TEST_F(PinnedBlocksOnGpu, BuffersGrowAndGiveBack) {
  const auto pool = std::make_shared<gpu::PinnedBlocks>(64 * kPieceBytes);
  {
    gpu::PinnedBuffer buffer;
    buffer.set_pool(pool);
    ASSERT_TRUE(buffer.reserve(kPieceBytes));
    ASSERT_TRUE(buffer.reserve(kPieceBytes / 2));
    EXPECT_EQ(buffer.bytes(), kPieceBytes) << "it never shrinks";
    ASSERT_TRUE(buffer.reserve(2 * kPieceBytes));
    buffer.data()[2 * kPieceBytes - 1] = 1;
    EXPECT_EQ(pool->kept_bytes(), kPieceBytes);
    gpu::PinnedBuffer moved = std::move(buffer);
    EXPECT_EQ(moved.bytes(), 2 * kPieceBytes);
  }
  EXPECT_EQ(pool->kept_bytes(), 3 * kPieceBytes);
  gpu::PinnedBuffer alone;
  ASSERT_TRUE(alone.reserve(kPieceBytes));
  EXPECT_NE(alone.data(), nullptr);
}

TEST_F(CopyStreamsOnGpu, WhatFollowsInAStreamFindsItsCopies) {
  gpu::CopyStreams streams_for_copies = value_of(gpu::CopyStreams::make());
  const auto host = value_of(gpu::Buffer::make(gpu::BufferKind::kPinned, 4 * kPieceBytes));
  const auto device = value_of(gpu::Buffer::make(gpu::BufferKind::kDevice, 4 * kPieceBytes));
  for (std::size_t i = 0; i < 4 * kPieceBytes; ++i) {
    host.data()[i] = static_cast<std::uint8_t>(i * 31 + i / 997);
  }
  std::vector<gpu::Stream> streams;
  std::vector<gpu::Event> copied;
  std::vector<std::vector<std::uint8_t>> got(4, std::vector<std::uint8_t>(kPieceBytes));
  for (std::size_t s = 0; s < 4; ++s) {
    streams.push_back(value_of(gpu::Stream::make()));
    copied.push_back(value_of(gpu::Event::make_untimed()));
    gpu::CopyList list;
    // Two pieces, in the other order.
    const std::size_t begin = s * kPieceBytes;
    list.add(device.data() + begin + kPieceBytes / 2, host.data() + begin + kPieceBytes / 2,
             kPieceBytes / 2);
    list.add(device.data() + begin, host.data() + begin, kPieceBytes / 2);
    streams_for_copies.enqueue(list, copied[s], streams[s]);
    ASSERT_EQ(cudaMemcpyAsync(got[s].data(), device.data() + begin, kPieceBytes,
                              cudaMemcpyDeviceToHost, streams[s].get()),
              cudaSuccess);
  }
  for (std::size_t s = 0; s < 4; ++s) {
    ASSERT_TRUE(streams[s].synchronise());
    const std::vector<std::uint8_t> want(host.data() + s * kPieceBytes,
                                         host.data() + (s + 1) * kPieceBytes);
    EXPECT_EQ(got[s], want);
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
