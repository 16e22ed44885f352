// Everything between decode and encode on the GPU against the reference, beside the CPU codec:
// one batch of every layout with every wish.
#include <tests/conformance/cases.hpp>
#include <tests/conformance/wishes.hpp>
#include <tests/gpu/jobs.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/support/simple_profiles.hpp>

namespace framewire::gpu_tests {
namespace {

using conformance::Case;
using conformance::Layout;
using conformance::sized;
using conformance::Wish;

ResizeOptions padded(std::int32_t width, std::int32_t height, Sampling sampling = Sampling::k420) {
  ResizeOptions o = sized(width, height, sampling);
  o.resize = ResizeMode::kFit;
  o.has_background = true;
  o.background = {200, 30, 90};
  return o;
}

ResizeOptions sharpened(ResizeOptions o, double sigma) {
  o.sharpen_sigma = sigma;
  return o;
}

std::vector<Wish> wishes() {
  std::vector<Wish> all{{"half", sized(125, 66)},
                        {"sixteenth", sized(15, 9)},
                        {"tenth", sized(24, 14)},
                        {"one_pixel", sized(1, 1)},
                        {"keep_sampling", sized(83, 41, Sampling::kKeep)},
                        {"gray", sized(83, 41, Sampling::kGray)},
                        {"422", sized(83, 41, Sampling::k422)},
                        {"440", sized(83, 41, Sampling::k440)},
                        {"padded", padded(101, 95)},
                        {"padded_444", padded(60, 99, Sampling::k444)},
                        {"sharpened", sharpened(sized(125, 66), 0.8)},
                        {"sharpened_much", sharpened(sized(61, 35), 7)},
                        {"sharpened_turned", sharpened(sized(61, 35), 1.5), 6},
                        {"padded_turned", padded(101, 95), 8},
                        {"all", sharpened(padded(64, 101), 1), 7}};
  for (const Kernel kernel : {Kernel::kBilinear, Kernel::kNearest, Kernel::kArea}) {
    all.push_back({"kernel", sized(91, 47)});
    all.back().options.kernel = kernel;
    all.push_back({"extreme", sized(3, 2)});
    all.back().options.kernel = kernel;
  }
  all.push_back({"kept_numbers", sized(91, 47)});
  all.back().options.color = ColorMode::kKeep;
  all.push_back({"kept_numbers_padded_turned", padded(91, 147), 3});
  all.back().options.color = ColorMode::kKeep;
  ResizeOptions around = sized(61, 35);
  around.padding = {3, 5, 8, 9};
  all.push_back({"padded_at_all_sides", around});
  around.rotate = Rotation::k90;
  around.flip = Flip::kVertical;
  all.push_back({"padded_turned_and_flipped", around, 2});
  around.color = ColorMode::kKeep;
  around.sampling = Sampling::k422;
  all.push_back({"padded_kept_numbers", around});
  ResizeOptions window = sized(47, 47);
  window.resize = ResizeMode::kFill;
  window.extend = Gravity{.anchor = Gravity::Anchor::kSoEa, .offset_x = 7, .offset_y = 3};
  window.zoom_x = window.zoom_y = 1.3;
  all.push_back({"window_between_pixels", window});
  for (int orientation = 2; orientation <= 8; ++orientation) {
    for (const Sampling sampling : {Sampling::k420, Sampling::k422}) {
      all.push_back({"orientation", sized(61, 35, sampling), orientation});
    }
  }
  return all;
}

/// Every plane of the GPU's output is the reference's, or nearer to it than the CPU codec's is but
/// for 0.1 dB. Outputs are written at quality 100 and read by libjpeg.
void expect_reference(const Job& job, std::span<const std::uint8_t> ours, double& lowest) {
  codec::CodecOutcome outcome;
  const auto a = conformance::libjpeg_planes(ours);
  const auto want = conformance::libjpeg_planes(job.run(*codec::make_reference_codec(), outcome));
  const auto cpu = conformance::libjpeg_planes(job.run(*codec::make_turbo_codec(), outcome));
  ASSERT_TRUE(a && want && cpu) << job.name();
  ASSERT_EQ(a->planes.size(), want->planes.size()) << job.name();
  EXPECT_EQ(a->planes[0].width_px, job.plan().encode.width_px) << job.name();
  EXPECT_EQ(a->planes[0].height_px, job.plan().encode.height_px) << job.name();
  for (std::size_t c = 0; c < a->planes.size(); ++c) {
    const auto found = conformance::distance(a->planes[c], want->planes[c]);
    const auto bound = conformance::distance(cpu->planes[c], want->planes[c]);
    lowest = std::min(lowest, found.psnr_db);
    EXPECT_TRUE(found.largest <= 2 || found.psnr_db >= std::min(50.0, bound.psnr_db - 0.1))
        << job.name() << " plane " << c << ": " << found.psnr_db << " dB, largest " << found.largest
        << "; the CPU codec " << bound.psnr_db << " dB";
  }
}

void expect_all(const Jobs& jobs) {
  const auto transcoder = run_batch(jobs);
  double lowest = 99;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto result = transcoder.result(i);
    EXPECT_EQ(result.status, 0u) << jobs[i]->name();
    if (result.status == 0) expect_reference(*jobs[i], result.bytes, lowest);
  }
  testing::Test::RecordProperty("lowest_psnr_db", std::to_string(lowest));
}

class GpuPicture : public GpuTest {};

TEST_F(GpuPicture, EveryLayoutWithEveryWishIsTheReferences) {
  Jobs jobs;
  for (const Layout& layout : conformance::all_layouts()) {
    const Case c{layout, conformance::coding("baseline"), 250, 131, 90, 0, 4};
    const auto bytes = conformance::make_jpeg(c);
    for (const Wish& wish : wishes()) {
      jobs.push_back(std::make_unique<Job>(
          layout.name + " " + wish.name + " " + std::to_string(jobs.size()), bytes, wish.options,
          [&](jpeg::JpegFile& file) { file.orientation = wish.orientation; }));
    }
  }
  expect_all(jobs);
}

/// Rows of many source lines, which do not fit into shared memory.
TEST_F(GpuPicture, ExtremeReductionsAreTheReferences) {
  Jobs jobs;
  const Case tall{conformance::layout("420"), conformance::coding("baseline"), 40, 4000, 90, 0, 2};
  const auto bytes = conformance::make_jpeg(tall);
  for (const Kernel kernel :
       {Kernel::kLanczos3, Kernel::kBicubic, Kernel::kArea, Kernel::kNearest}) {
    for (const int height : {1, 5, 40}) {
      ResizeOptions options = sized(40, height);
      options.kernel = kernel;
      jobs.push_back(std::make_unique<Job>("tall to " + std::to_string(height), bytes, options));
      options.sampling = Sampling::k444;
      jobs.push_back(std::make_unique<Job>("tall 444", bytes, options));
    }
  }
  expect_all(jobs);
}

/// Noise fills blocks to their last coefficient, behind which the next block's DC follows at once:
/// what a step of several symbols makes of it belongs to neither. Blocks at the edges are kept
/// whole.
TEST_F(GpuPicture, NoiseIsTheReferences) {
  Jobs jobs;
  const auto noise = [](int c, double x, double y) {
    const auto place =
        static_cast<std::uint32_t>(x) * 7919 + static_cast<std::uint32_t>(y) * 104729;
    return 96 + ((place + static_cast<std::uint32_t>(c)) * 2654435761u >> 26) * 1.0;
  };
  for (const int quality : {80, 84, 88, 92, 96}) {
    for (const bool gray : {false, true}) {
      sample::Spec spec;
      spec.width_px = 131;
      spec.height_px = 97;
      spec.quality = quality;
      spec.optimized = true;
      if (gray) spec.space = JCS_GRAYSCALE;
      const auto bytes = sample::make(spec, noise);
      for (const auto& [width, height] : {std::pair(66, 49), {33, 25}, {17, 13}}) {
        jobs.push_back(std::make_unique<Job>("noise to " + std::to_string(width), bytes,
                                             sized(width, height, Sampling::kKeep)));
      }
    }
  }
  expect_all(jobs);
}

TEST_F(GpuPicture, ProfilesAreTheReferences) {
  using namespace color::testing_profiles;
  Jobs jobs;
  const auto add = [&](const std::string& layout, const Bytes& icc) {
    const Case c{conformance::layout(layout), conformance::coding("baseline"), 250, 131, 90, 0, 4};
    for (const int orientation : {1, 3, 5}) {
      for (const Sampling sampling : {Sampling::k420, Sampling::kGray}) {
        jobs.push_back(std::make_unique<Job>(layout + " with a profile", conformance::make_jpeg(c),
                                             sized(83, 61, sampling), [&](jpeg::JpegFile& file) {
                                               file.icc = icc;
                                               file.orientation = orientation;
                                             }));
      }
    }
  };
  add("420", rgb_profile(kDisplayP3));
  add("444", rgb_profile(kAdobeRgb));
  add("rgb", rgb_profile(kAdobeRgb));
  add("420", matrix_profile(kP3Colorants, curve_of({900, 65535})).bytes());  // its black is light
  add("420", wavy_rgb_profile());
  add("gray", gray_profile(1.8));
  add("cmyk", cmyk_profile());
  add("ycck_420", cmyk_profile());
  expect_all(jobs);
}

}  // namespace
}  // namespace framewire::gpu_tests
