// TensorDecoder against the twin: every layout and coding, crops, kernels, types, orientations.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <framewire/random_crop.hpp>
#include <framewire/tensor.hpp>
#include <fstream>
#include <iterator>
#include <jpeg/exif.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>
#include <random>
#include <tests/conformance/cases.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/tensor_twin.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/tensors.hpp>

namespace framewire::conformance {
namespace {

/// The nearest level, but for what single precision loses.
constexpr double kExactBound = 0.502;
/// Where the twin converts colours in double and the decoder as libjpeg does, source samples may
/// differ by 1, and cubic kernels weigh them with up to 1.4.
constexpr double kConvertedBound = 1.9;
/// Planes differ by 1 in reduced decodes; blue has that of luma and 1.772 times that of chroma.
constexpr double kFastBound = 3.3;

/// Of kFast against kExact, in levels, where a picture is smooth.
constexpr double kSmoothBound = 6;
constexpr double kSmoothMean = 0.8;

/// Decodes one image, which must succeed.
TwinImage decode(const TensorOptions& options, const TensorItem& item) {
  auto decoder = TensorDecoder::make(options);
  EXPECT_TRUE(decoder) << decoder.error().to_string();
  std::vector<std::uint8_t> batch(decoder->image_bytes(), 0xA5);
  std::uint8_t ok = 7;
  const auto done = decoder->decode({&item, 1}, {batch.data(), batch.size(), &ok});
  EXPECT_TRUE(done) << done.error().to_string();
  EXPECT_TRUE(decoder->image(0)) << decoder->image(0).error().to_string();
  EXPECT_EQ(ok, 1);
  return read_back(batch.data(), options);
}

/// Whether libjpeg does not convert the file's colours to the options', so that the twin does.
bool converted_apart(const std::vector<std::uint8_t>& jpeg, const TensorOptions& options) {
  const auto file = parse_or_die(jpeg);
  for (int c = 0; c < file.frame.component_count; ++c) {
    const auto& component = file.frame.components[static_cast<std::size_t>(c)];
    if (file.frame.h_max % component.h != 0 || file.frame.v_max % component.v != 0) return true;
  }
  const bool rgb = file.color_model == jpeg::ColorModel::kRgb || file.frame.component_count == 4;
  return (rgb && options.color == TensorColor::kYcbcr) ||
         (file.frame.component_count == 4 && options.color == TensorColor::kGray);
}

void expect_exact(const std::vector<std::uint8_t>& jpeg, const std::optional<CropBox>& crop,
                  bool flip, const TensorOptions& options) {
  const TensorItem item{jpeg, crop, flip};
  const auto picture = twin_picture(jpeg, options);
  ASSERT_TRUE(picture);
  const TwinImage expected = twin_resize(*picture, item, options);
  const TwinDistance d = distance(decode(options, item), expected);
  EXPECT_LE(d.largest, converted_apart(jpeg, options) ? kConvertedBound : kExactBound);
}

class TensorMatrix : public testing::TestWithParam<Layout> {};

TEST_P(TensorMatrix, RandomCropsOfEveryCodingAreTheTwins) {
  std::mt19937 random(17);
  const Kernel kernels[] = {Kernel::kBilinear, Kernel::kBicubic, Kernel::kLanczos3, Kernel::kArea};
  int turn = 0;
  for (const Coding& coding : all_codings()) {
    for (const auto& [width, height] : {std::pair{1, 1}, {5, 3}, {17, 16}, {61, 45}, {130, 97}}) {
      Case c{GetParam(), coding, width, height, 85, turn % 3 == 2 ? 3 : 0, 5};
      const auto jpeg = make_jpeg(c);
      for (int i = 0; i < 3; ++i, ++turn) {
        std::optional<CropBox> crop;
        if (i > 0) crop = test::random_box(random, width, height);
        TensorOptions options = test::tensor_options(1 + static_cast<int>(random() % 48),
                                                     1 + static_cast<int>(random() % 48));
        options.kernel = kernels[turn % 4];
        options.antialias = turn % 4 >= 2 || turn % 5 != 0;
        options.type = static_cast<TensorType>(turn % 4 == 1 ? 0 : 3);
        options.layout = static_cast<TensorLayout>(turn % 2);
        options.color = static_cast<TensorColor>(turn % 7 % 4);
        SCOPED_TRACE(testing::Message() << c.name() << " -> " << options.width_px << "x"
                                        << options.height_px << " turn " << turn);
        expect_exact(jpeg, crop, turn % 3 == 1, options);
      }
    }
  }
}

TEST_P(TensorMatrix, CropsOfOnePixelAndEdgesAreTheTwins) {
  const int width = 35, height = 27;
  const auto jpeg = make_jpeg(Case{GetParam(), coding("baseline"), width, height, 92, 0, 9});
  const TensorOptions options = test::tensor_options(3, 2);
  for (const int x : {0, 1, 2, 15, 16, 17, 33, 34}) {
    for (const int y : {0, 1, 15, 16, 25, 26}) {
      SCOPED_TRACE(testing::Message() << x << ", " << y);
      expect_exact(jpeg, CropBox{x, y, 1, 1}, false, options);
      expect_exact(jpeg, CropBox{x, y, width - x, height - y}, false, options);
      expect_exact(jpeg, CropBox{0, 0, x + 1, y + 1}, false, options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, TensorMatrix, testing::ValuesIn(all_layouts()),
                         [](const auto& at) {
                           std::string name = at.param.name;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

std::vector<std::uint8_t> photograph(const std::string& sampling, int width, int height,
                                     std::uint32_t seed = 3) {
  return make_jpeg(Case{layout(sampling), coding("baseline"), width, height, 90, 0, seed});
}

TEST(Tensor, EveryTypeHoldsTheNormalisedSample) {
  const auto jpeg = photograph("420", 90, 70);
  const TensorItem item{jpeg, CropBox{11, 7, 60, 50}, false};
  TensorOptions plain = test::tensor_options(32, 24);
  plain.type = TensorType::kUint8;
  const TwinImage samples = decode(plain, item);
  // Half of the last place of what each type holds between 2 and 4, in levels: × stddev × 255.
  const std::pair<TensorType, double> types[] = {{TensorType::kFloat32, 1e-4},
                                                 {TensorType::kFloat16, 0.001 * 0.23 * 255},
                                                 {TensorType::kBfloat16, 0.008 * 0.23 * 255}};
  for (const auto& [type, bound] : types) {
    TensorOptions options = test::tensor_options(32, 24);
    options.type = type;
    options.mean = {0.485f, 0.456f, 0.406f};
    options.stddev = {0.229f, 0.224f, 0.225f};
    const TwinDistance d = distance(decode(options, item), samples);  // of whole levels
    EXPECT_LE(d.largest, bound) << static_cast<int>(type);
    EXPECT_GT(d.largest, 0) << static_cast<int>(type);
  }
}

TEST(Tensor, ElementsAreRoundedOnceFromSinglePrecision) {
  const auto jpeg = photograph("444", 16, 16);
  TensorOptions options = test::tensor_options(16, 16);
  options.mean = {0.5f, 0.25f, 0.125f};
  options.stddev = {0.25f, 0.5f, 2.0f};
  const TensorItem item{jpeg, std::nullopt, false};
  const auto raw = [&](TensorType type) {
    options.type = type;
    auto decoder = TensorDecoder::make(options).value();
    std::vector<std::uint8_t> batch(decoder.image_bytes());
    EXPECT_TRUE(decoder.decode({&item, 1}, {batch.data(), batch.size(), nullptr}));
    return batch;
  };
  const auto floats = raw(TensorType::kFloat32);
  const auto halves = raw(TensorType::kBfloat16);
  for (std::size_t i = 0; i < floats.size() / 4; ++i) {
    std::uint32_t bits;
    std::uint16_t half;
    std::memcpy(&bits, floats.data() + 4 * i, 4);
    std::memcpy(&half, halves.data() + 2 * i, 2);
    const std::uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    ASSERT_EQ(half, rounded) << i;
  }
}

std::vector<std::uint8_t> with_orientation(const std::vector<std::uint8_t>& jpeg, int orientation) {
  jpeg::ExifSummary summary;
  summary.orientation = orientation;
  auto payload = jpeg::Bytes(jpeg::kExifId.begin(), jpeg::kExifId.end());
  jpeg::append_bytes(payload, jpeg::make_exif(summary));
  std::vector<std::uint8_t> out(jpeg.begin(), jpeg.begin() + 2);
  jpeg::write_segment(out, jpeg::marker::kApp1, payload);
  out.insert(out.end(), jpeg.begin() + 2, jpeg.end());
  return out;
}

TEST(Tensor, ExifTurnsThePictureBeforeTheCrop) {
  const auto plain = photograph("420", 75, 50);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto jpeg = with_orientation(plain, orientation);
    const bool swap = orientation >= 5;
    const auto size = read_picture_size(jpeg, true);
    ASSERT_TRUE(size);
    EXPECT_EQ(size->width_px, swap ? 50 : 75);
    for (const bool flip : {false, true}) {
      for (const bool exif : {false, true}) {
        TensorOptions options = test::tensor_options(21, 17);
        options.exif = exif;
        SCOPED_TRACE(testing::Message() << orientation << flip << exif);
        expect_exact(jpeg, CropBox{7, 3, 37, 41}, flip, options);
        expect_exact(jpeg, std::nullopt, flip, options);
      }
    }
  }
}

TEST(Tensor, FastIsItsTwin) {
  std::mt19937 random(23);
  for (const char* sampling : {"420", "422", "440", "444", "411", "gray"}) {
    const auto jpeg = photograph(sampling, 333, 251);
    for (int i = 0; i < 12; ++i) {
      TensorOptions options = test::tensor_options(8 + static_cast<int>(random() % 60),
                                                   8 + static_cast<int>(random() % 60));
      options.fidelity = TensorFidelity::kFast;
      options.kernel = i % 2 == 0 ? Kernel::kBilinear : Kernel::kBicubic;
      options.antialias = i % 6 != 5;
      if (std::string(sampling) == "gray") options.color = TensorColor::kGray;
      TensorItem item{jpeg, std::nullopt, i % 3 == 0};
      if (i > 2) item.crop = test::random_box(random, 333, 251);
      SCOPED_TRACE(testing::Message() << sampling << " " << i);
      const TwinImage fast = decode(options, item);
      const TwinDistance twin = distance(fast, twin_fast(jpeg, item, options));
      EXPECT_LE(twin.largest, kFastBound);
      EXPECT_LE(twin.mean, 0.3);
    }
  }
}

/// Waves, with little that is as fine as a chroma sample and nothing that is cut off at 0 or 255.
std::vector<std::uint8_t> waves(int h, int v) {
  sample::Spec spec;
  spec.width_px = 333;
  spec.height_px = 251;
  spec.h = h;
  spec.v = v;
  spec.quality = 95;
  return sample::make(spec, [](int component, double x, double y) {
    return 128 + (component == 0 ? 50 : 30) * std::sin(x / (11.0 + component)) *
                     std::cos(y / (17.0 - component));
  });
}

// docs/tensors.md states these bounds for smooth pictures, and says what edges cost.
TEST(Tensor, FastIsNearExactOnSmoothPictures) {
  std::mt19937 random(29);
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}}) {
    const auto jpeg = waves(h, v);
    for (int i = 0; i < 12; ++i) {
      TensorOptions options = test::tensor_options(20 + static_cast<int>(random() % 120),
                                                   20 + static_cast<int>(random() % 120));
      TensorItem item{jpeg, std::nullopt, false};
      if (i > 3) item.crop = CropBox{i * 9, i * 5, 200, 150};
      const TwinImage exact = decode(options, item);
      options.fidelity = TensorFidelity::kFast;
      const TwinDistance d = distance(decode(options, item), exact);
      SCOPED_TRACE(testing::Message() << h << "x" << v << " " << i);
      EXPECT_LE(d.largest, kSmoothBound);
      EXPECT_LE(d.mean, kSmoothMean);
    }
  }
}

TEST(Tensor, FourComponentsAndRgbFilesAreExactWhereTheyAreConverted) {
  for (const char* name : {"cmyk", "ycck_420"}) {
    const auto jpeg = photograph(name, 64, 48);
    TensorOptions options = test::tensor_options(20, 20);
    options.fidelity = TensorFidelity::kFast;
    const TensorItem item{jpeg, CropBox{5, 5, 40, 40}, false};
    const auto picture = twin_picture(jpeg, options);
    ASSERT_TRUE(picture);
    EXPECT_LE(distance(decode(options, item), twin_resize(*picture, item, options)).largest,
              kExactBound);
  }
}

TEST(Tensor, CorpusFilesAreTheTwins) {
  const char* root = std::getenv("FRAMEWIRE_CORPUS");
  if (root == nullptr) GTEST_SKIP() << "FRAMEWIRE_CORPUS is not set";
  int compared = 0;
  std::uint64_t number = 0;
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / "features")) {
    if (entry.is_regular_file() && entry.file_size() < 200'000) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<std::uint8_t> jpeg{std::istreambuf_iterator<char>(in), {}};
    TensorOptions options = test::tensor_options(56, 56);
    options.exif = number % 2 == 0;
    const auto size = read_picture_size(jpeg, options.exif);
    if (!size || static_cast<std::int64_t>(size->width_px) * size->height_px > 1'000'000) continue;
    const auto picture = twin_picture(jpeg, options);
    if (!picture) continue;
    SCOPED_TRACE(path.string());
    const auto box = random_resized_crop(size->width_px, size->height_px, {1, 0, ++number});
    ASSERT_TRUE(box);
    const TensorItem item{jpeg, *box, false};
    auto decoder = TensorDecoder::make(options).value();
    std::vector<std::uint8_t> batch(decoder.image_bytes());
    ASSERT_TRUE(decoder.decode({&item, 1}, {batch.data(), batch.size(), nullptr}));
    // Damaged files by the project's rules, which libjpeg's pixels need not follow.
    if (!decoder.image(0) || !decoder.image(0)->warnings.empty()) continue;
    const TwinDistance d =
        distance(read_back(batch.data(), options), twin_resize(*picture, item, options));
    EXPECT_LE(d.largest, kExactBound);
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace framewire::conformance
