// Lists of copies, where the driver takes them and where it does not.
#include <algorithm>
#include <gpu/buffer.hpp>
#include <gpu/copy_list.hpp>
#include <gpu/stream.hpp>
#include <tests/gpu/gpu.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

constexpr std::size_t kListBytes = 64 << 10;
/// Where a piece comes from, goes to, and its length.
struct Piece {
  std::size_t from;
  std::size_t to;
  std::size_t bytes;
};
/// Pieces of odd lengths, at odd places, in another order than at their source.
constexpr Piece kPieces[] = {{1, 40'003, 17'001}, {30'000, 5, 1}, {20'001, 100, 9'999}};

class CopyLists : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    auto host = gpu::Buffer::make(gpu::BufferKind::kPinned, kListBytes);
    auto device = gpu::Buffer::make(gpu::BufferKind::kDevice, kListBytes);
    ASSERT_TRUE(host && device);
    host_ = std::move(*host), device_ = std::move(*device);
    for (std::size_t i = 0; i < kListBytes; ++i) {
      host_.data()[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    }
  }
  /// What the device holds after the first pieces have been copied, beside what it should.
  void expect_pieces(std::size_t count, cudaStream_t stream) {
    std::vector<std::uint8_t> want(kListBytes, 0xA5);
    ASSERT_EQ(cudaMemcpy(device_.data(), want.data(), kListBytes, cudaMemcpyHostToDevice),
              cudaSuccess);
    // Such a copy may return before its last bytes have arrived.
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    gpu::CopyList list;
    for (std::size_t round = 0; round < 2; ++round) {  // cleared lists are used again
      list.clear();
      for (std::size_t i = 0; i < count; ++i) {
        const auto [from, to, bytes] = kPieces[i];
        list.add(device_.data() + to, host_.data() + from, bytes);
        std::copy_n(host_.data() + from, bytes, want.begin() + static_cast<std::ptrdiff_t>(to));
      }
      list.enqueue(stream);
    }
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    std::vector<std::uint8_t> got(kListBytes);
    ASSERT_EQ(cudaMemcpy(got.data(), device_.data(), kListBytes, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(got, want) << count << " pieces";
  }

  gpu::Buffer host_;
  gpu::Buffer device_;
};

TEST_F(CopyLists, CopyWhatTheyName) {
  auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream);
  for (std::size_t count = 0; count <= std::size(kPieces); ++count) {
    expect_pieces(count, stream->get());
  }
}

// The default stream takes no list, as a driver does that is too old.
TEST_F(CopyLists, AreCopiedOneByOneWhereTheyAreRefused) {
  expect_pieces(std::size(kPieces), nullptr);
}

}  // namespace
}  // namespace framewire::gpu_tests
