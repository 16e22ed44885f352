// What profiles cost in bytes that travel with a batch; needs no device.
#include <codec/cuda/batch_plan.hpp>
#include <color/shaper.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/jobs.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/support/simple_profiles.hpp>

namespace framewire::gpu_tests {
namespace {

using namespace color::testing_profiles;

std::unique_ptr<Job> job_of(const Bytes& icc) {
  const conformance::Case c{
      conformance::layout("420"), conformance::coding("baseline"), 64, 48, 90, 0, 4};
  ResizeOptions options;
  options.width_px = 32;
  return std::make_unique<Job>("profile", conformance::make_jpeg(c), options,
                               [&](jpeg::JpegFile& file) { file.icc = icc; });
}

std::uint64_t uploaded_bytes(const std::vector<codec::cuda::Item>& items) {
  codec::cuda::BatchPlan plan;
  plan.clear();
  for (const codec::cuda::Item& item : items) plan.add(item);
  plan.lay_out();
  return plan.arena().bytes(gpu::Part::kUploaded);
}

TEST(ProfileUpload, EachTableTravelsOnceAndIsSmall) {
  std::vector<std::unique_ptr<Job>> jobs;
  constexpr std::size_t kCount = 10;
  for (std::size_t i = 0; i < kCount; ++i) {
    jobs.push_back(
        job_of(matrix_profile(kP3Colorants, gamma_curve(1.5 + 0.1 * double(i))).bytes()));
  }
  std::vector<codec::cuda::Item> same, different;
  for (const auto& job : jobs) {
    codec::cuda::Item item = jobs[0]->item;
    same.push_back(item);
    item.converter = job->item.converter;
    different.push_back(item);
  }
  const std::uint64_t table = jobs[0]->item.converter->table()->bytes.size();
  EXPECT_EQ(table, sizeof(color::ShaperTable));
  EXPECT_LE(table, 1600u);
  const std::uint64_t more = uploaded_bytes(different) - uploaded_bytes(same);
  EXPECT_GE(more + gpu::kAlignment, (kCount - 1) * table);
  EXPECT_LE(more, (kCount - 1) * table + gpu::kAlignment);
  // And what turns light into samples travels once with all of them.
  const std::vector<codec::cuda::Item> one{same[0]}, two{same[0], same[1]};
  EXPECT_LT(uploaded_bytes(two) - uploaded_bytes(one), color::srgb_samples().size());
}

}  // namespace
}  // namespace framewire::gpu_tests
