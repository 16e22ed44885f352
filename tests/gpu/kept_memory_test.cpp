// What an engine with GPUs keeps from request to request.
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>
#include <tests/support/requests_of_their_own.hpp>
#include <tests/support/sample_profiles.hpp>

namespace framewire::gpu_tests {
namespace {

using EngineMemoryAttackOnGpu = GpuTest;

TEST_F(EngineMemoryAttackOnGpu, RequestsOfTheirOwnStayBelowTheBounds) {
  EngineOptions options;
  options.codec = CodecKind::kCuda;
  options.devices = {0};
  options.streams = 2;
  options.threads = 1;
  options.gpu_memory_bytes = std::uint64_t{256} << 20;
  Engine engine = value_of(Engine::make(options));
  sample::Spec spec;
  spec.width_px = 96;
  spec.height_px = 80;
  const Bytes photo = draw(spec);
  const int count = emulated() ? 200 : 16'000;
  const EngineStats stats = test::submit_requests_of_their_own(engine, photo, count);
  EXPECT_EQ(stats.gpu_images, static_cast<std::uint64_t>(count));
  const KeptMemory& headers = test::find_kept(stats, "headers");
  EXPECT_GT(headers.misses, static_cast<std::uint64_t>(count) / 2);
  EXPECT_GT(headers.bytes, 0u);
  EXPECT_GT(test::find_kept(stats, "device buffers").bytes, 0u);
  EXPECT_GT(test::find_kept(stats, "pinned buffers").bytes, 0u);
}

}  // namespace
}  // namespace framewire::gpu_tests
