// Memory that runs out while a batch is enqueued costs that batch, and nothing after it.
#include <algorithm>
#include <codec/cuda/transcoder.hpp>
#include <new>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>
#include <tests/service/support/failing_memory.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::Transcoder;

using TranscoderMemoryAttack = GpuTest;

TEST_F(TranscoderMemoryAttack, NothingOfABatchThatFailedIsEnqueuedLater) {
  sample::Spec spec{131, 97, JCS_YCbCr, 2, 2};
  spec.progressive = true;
  const OwnedItem owned(draw(spec), resize_to(33, 25));
  const std::span one(&owned.item, 1);
  Transcoder reference = value_of(Transcoder::make());
  ASSERT_TRUE(reference.enqueue(one));
  ASSERT_TRUE(reference.wait());
  const auto expected = reference.result(0);
  ASSERT_EQ(expected.status, 0u);
  int failures = 0;
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 2'000) << "allocations without an end";
    SCOPED_TRACE(n);
    Transcoder transcoder = value_of(Transcoder::make());
    transcoder.enqueue_in_parts();
    {
      const service::test::FailingMemory memory(n);
      try {
        (void)transcoder.enqueue(one);
      } catch (const std::bad_alloc&) {
        ++failures;
      }
      failed = memory.failed();
    }
    // Waits for the batch before, and goes on with whatever that has left.
    ASSERT_TRUE(transcoder.enqueue(one));
    ASSERT_TRUE(transcoder.wait());
    const auto made = transcoder.result(0);
    EXPECT_EQ(made.status, 0u);
    EXPECT_TRUE(std::ranges::equal(made.bytes, expected.bytes));
  }
  EXPECT_GE(failures, 3);
}

}  // namespace
}  // namespace framewire::gpu_tests
