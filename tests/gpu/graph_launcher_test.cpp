// Graphs of a stream's work: they do what the work itself would, whatever came before.
#include <codec/cuda/transcoder.hpp>
#include <codec/cuda/tuning.hpp>
#include <cstring>
#include <gpu/buffer.hpp>
#include <gpu/graph_launcher.hpp>
#include <gpu/graph_recording.hpp>
#include <gpu/upload.hpp>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::Item;
using codec::cuda::Transcoder;
using codec::cuda::Tuning;

constexpr std::size_t kGraphBytes = 4096;
constexpr std::size_t kMaxPieces = 16;

class GraphLaunches : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    stream_.emplace(value_of(gpu::Stream::make()));
    memory_ = value_of(gpu::Buffer::make(gpu::BufferKind::kDevice, kGraphBytes));
    ASSERT_EQ(cudaMemset2D(memory_.data(), kGraphBytes, 0, kGraphBytes, 1), cudaSuccess);
    numbers_ =
        value_of(gpu::Buffer::make(gpu::BufferKind::kPinnedMapped, kMaxPieces * kGraphBytes));
    for (std::size_t i = 0; i < kMaxPieces; ++i) {
      std::memset(numbers_.data() + i * kGraphBytes, static_cast<int>(i + 1), kGraphBytes);
    }
    // The stream does not wait for the default one, where that may still be going on.
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  /// Fills piece after piece, each with its number: by kernels and copies by turns.
  void fill(std::size_t pieces) {
    const std::size_t each = kGraphBytes / pieces;
    for (std::size_t i = 0; i < pieces; ++i) {
      std::uint8_t* const to = memory_.data() + i * each;
      const std::uint8_t* const from = numbers_.data() + i * kGraphBytes;
      if (i % 2 == 0) {
        gpu::upload(to, from, each, stream_->get());
      } else {
        gpu::copy_async(to, from, each, cudaMemcpyHostToDevice, stream_->get());
      }
    }
  }
  /// No driver takes it for a graph.
  void copy_nowhere() {
    gpu::copy_async(nullptr, numbers_.data(), 16, cudaMemcpyHostToDevice, stream_->get());
  }
  void expect_filled(std::size_t pieces) {
    ASSERT_TRUE(stream_->synchronise());
    std::vector<std::uint8_t> got(kGraphBytes);
    ASSERT_EQ(cudaMemcpy(got.data(), memory_.data(), kGraphBytes, cudaMemcpyDeviceToHost),
              cudaSuccess);
    const std::size_t each = kGraphBytes / pieces;
    for (std::size_t i = 0; i < pieces * each; ++i) ASSERT_EQ(got[i], i / each + 1) << i;
  }

  std::optional<gpu::Stream> stream_;
  gpu::Buffer memory_;
  gpu::Buffer numbers_;  ///< pinned: kMaxPieces times kGraphBytes, filled with 1, 2, …
  gpu::GraphLauncher launcher_{1e9};
};

/// More chains than are kept, each more than once and never with the same sizes twice in a row.
TEST_F(GraphLaunches, DoWhatWasEnqueued) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t pieces : {1U, 2U, 3U, 5U, 4U, 9U, 16U, 7U, 8U, 6U, 2U, 10U, 11U}) {
      ASSERT_TRUE(launcher_.launch(*stream_, [&] { fill(pieces); }));
      expect_filled(pieces);
    }
  }
}

TEST_F(GraphLaunches, WaitForWhatIsInFrontOfThem) {
  (void)cudaMemsetAsync(memory_.data(), 77, kGraphBytes, stream_->get());
  ASSERT_TRUE(launcher_.launch(*stream_, [&] { fill(3); }));
  fill(2);
  ASSERT_TRUE(launcher_.launch(*stream_, [&] { fill(4); }));
  expect_filled(4);
}

/// An update cannot make a copy of a kernel, so graphs of each are kept.
TEST_F(GraphLaunches, OfOtherKindsOfNodesAreKeptApart) {
  constexpr std::size_t kPiece = kGraphBytes / 4;
  for (int round = 0; round < 4; ++round) {
    for (const bool kernel : {true, false}) {
      ASSERT_TRUE(launcher_.launch(*stream_, [&] {
        for (std::size_t i = 0; i < 4; ++i) {
          std::uint8_t* const to = memory_.data() + i * kPiece;
          const std::uint8_t* const from = numbers_.data() + i * kGraphBytes;
          if (kernel) {
            gpu::upload(to, from, kPiece, stream_->get());
          } else {
            gpu::copy_async(to, from, kPiece, cudaMemcpyHostToDevice, stream_->get());
          }
        }
      }));
      expect_filled(4);
    }
  }
  EXPECT_EQ(launcher_.instantiated(), 2U);
}

/// Memory that runs out while work is recorded leaves a thread that enqueues again.
TEST_F(GraphLaunches, RecordNoLongerWhereWorkThrows) {
  EXPECT_THROW((void)launcher_.launch(*stream_,
                                      [&] {
                                        fill(7);
                                        throw std::bad_alloc();
                                      }),
               std::bad_alloc);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  fill(3);
  expect_filled(3);
}

/// What cannot be part of a graph leaves nothing behind: neither work, nor errors, nor a thread
/// that records.
TEST_F(GraphLaunches, LeaveNothingBehindWhereTheyFail) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(launcher_.launch(*stream_, [&] {
      fill(7);
      copy_nowhere();
    }));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    fill(2);
    expect_filled(2);
  }
  EXPECT_FALSE(launcher_.launch(*stream_, [&] { fill(3); })) << "still tried after many failures";
}

/// A copy that failed before a batch's kernels must not be forgotten: they would read what an
/// earlier batch left.
TEST_F(GraphLaunches, LeaveAnEarlierErrorPending) {
  void* none = nullptr;
  ASSERT_EQ(cudaMalloc(&none, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT_FALSE(launcher_.launch(*stream_, [&] { fill(3); }));
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(launcher_.instantiated(), 0U);
  ASSERT_TRUE(launcher_.launch(*stream_, [&] { fill(3); })) << "it is no failure of graphs";
  expect_filled(3);
}

TEST_F(GraphLaunches, GoOnAfterAFailure) {
  EXPECT_FALSE(launcher_.launch(*stream_, [&] { copy_nowhere(); }));
  ASSERT_TRUE(launcher_.launch(*stream_, [&] { fill(3); }));
  expect_filled(3);
}

/// Chains of more kinds than are kept, in turn: most work goes without a graph, and none is wrong.
TEST_F(GraphLaunches, AreEarned) {
  gpu::GraphLauncher launcher;
  std::size_t direct = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t pieces = 1 + i % 16;
    if (!launcher.launch(*stream_, [&] { fill(pieces); })) {
      fill(pieces);
      ++direct;
    }
    if (i == 30) {
      EXPECT_EQ(direct, 31U) << "a graph that nothing has paid for";
    }
    if (i % 50 == 0) expect_filled(pieces);
  }
  EXPECT_GE(launcher.instantiated(), 1U);
  EXPECT_GE(direct, 36U);
}

/// Batches whose images need different stages, one after the other through the same graphs, give
/// the bytes that a batch of one without a graph gives.
TEST_F(GraphLaunches, ChangeNoByteOfAnyBatch) {
  sample::Spec spec;
  spec.width_px = 200;
  spec.height_px = 150;
  spec.h = spec.v = 2;
  std::vector<std::unique_ptr<OwnedItem>> owned;
  const auto add = [&](const ResizeOptions& options) {
    owned.push_back(
        std::make_unique<OwnedItem>(draw(spec, static_cast<int>(owned.size())), options));
  };
  add(resize_to(60, 40));
  ResizeOptions options = resize_to(90, 70);
  options.sharpen_sigma = 1.5;
  add(options);
  options = resize_to(31, 33);
  options.optimize_huffman = true;
  add(options);
  options = resize_to(80, 60);
  options.max_bytes = 2000;
  add(options);
  options = resize_to(80, 60);
  options.resize = ResizeMode::kFit;
  options.has_background = true;
  add(options);
  add(resize_to(3, 2));

  Transcoder lone = value_of(Transcoder::make());
  std::vector<Bytes> expected;
  for (const auto& one : owned) {
    const std::vector<Item> items{one->item};
    ASSERT_TRUE(lone.enqueue(items));
    ASSERT_TRUE(lone.wait());
    ASSERT_EQ(lone.result(0).status, 0U);
    expected.emplace_back(lone.result(0).bytes.begin(), lone.result(0).bytes.end());
  }
  Tuning tuning;
  tuning.graph_credit_us = 1 << 30;
  tuning.lone_batch_bytes = tuning.tiny_batch_bytes = 0;
  Transcoder transcoder = value_of(Transcoder::make(false, tuning));
  std::mt19937 random(1);
  for (int round = 0; round < 24; ++round) {
    std::vector<std::size_t> which;
    std::vector<Item> items;
    for (std::size_t i = 0, count = 1 + random() % 9; i < count; ++i) {
      which.push_back(random() % owned.size());
      items.push_back(owned[which.back()]->item);
    }
    ASSERT_TRUE(transcoder.enqueue(items));
    ASSERT_FALSE(transcoder.batch().decode().is_small()) << "no graph";
    ASSERT_TRUE(transcoder.wait());
    for (std::size_t i = 0; i < which.size(); ++i) {
      ASSERT_EQ(transcoder.result(i).status, 0U);
      const auto bytes = transcoder.result(i).bytes;
      EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), expected[which[i]]) << round << " " << which[i];
    }
  }
}

/// What other streams have under way decides how a batch is cut, and is forgotten when it is over.
TEST_F(GraphLaunches, LoadIsGivenBack) {
  sample::Spec spec;
  spec.width_px = 64;
  spec.height_px = 48;
  const OwnedItem owned(draw(spec), resize_to(30, 20));
  const std::vector<Item> items(2, owned.item);
  const auto load = std::make_shared<codec::cuda::EntropyLoad>();
  Transcoder first = value_of(Transcoder::make());
  Transcoder second = value_of(Transcoder::make());
  first.share({load, nullptr, nullptr, nullptr});
  second.share({load, nullptr, nullptr, nullptr});
  for (int round = 0; round < 2; ++round) {
    const codec::cuda::EntropyLoad::Share others(load, std::uint64_t{256} << 20);
    ASSERT_TRUE(first.enqueue(items));
    EXPECT_FALSE(first.batch().decode().is_small());
    ASSERT_TRUE(first.wait());
  }
  ASSERT_TRUE(second.enqueue(items));
  EXPECT_TRUE(second.batch().decode().is_small()) << "loads that are over still count";
  ASSERT_TRUE(second.wait());
  EXPECT_EQ(codec::cuda::EntropyLoad::Share(load, 0).total_bytes(), 0U);
}

}  // namespace
}  // namespace framewire::gpu_tests
