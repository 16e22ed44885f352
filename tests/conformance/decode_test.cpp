// Every codec decodes every kind of file as libjpeg-turbo and the reference do.
#include <gtest/gtest.h>
#include <codec/reference/coefficients.hpp>
#include <codec/reference/reference_codec.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>

namespace framewire::conformance {
namespace {

class FullDecode : public testing::TestWithParam<Cell> {};

void expect_no_warnings(const std::vector<Warning>& warnings) {
  for (const Warning& w : warnings) ADD_FAILURE() << to_string(w.kind) << ": " << w.message;
}

/// libjpeg's integer transform and ours may round to different sides.
constexpr int kFullScaleBound = 1;
/// Reduced scales have no outside judge; float against double.
constexpr int kReducedBound = 1;
/// Each component has its own scale; all equal is what a resize mostly asks for.
constexpr plan::Scales kReducedScales[] = {{6, 6, 6, 6}, {5, 5, 5, 5}, {4, 4, 4, 4}, {2, 2, 2, 2},
                                           {1, 1, 1, 1}, {4, 8, 2, 1}, {1, 4, 2, 8}, {6, 5, 8, 4},
                                           {5, 2, 6, 1}, {4, 2, 1, 2}, {4, 4, 2, 1}};

TEST_P(FullDecode, PlanesAreThoseOfLibjpeg) {
  const auto codec = GetParam().codec.make();
  for (const Case& c : cases_of(GetParam().layout, GetParam().coding)) {
    SCOPED_TRACE(c.name());
    const auto bytes = make_jpeg(c);
    const auto expected = libjpeg_planes(bytes);
    ASSERT_TRUE(expected);
    codec::CodecOutcome outcome;
    auto planes = codec->decode(parse_or_die(bytes), plan::kFullScale, {}, outcome);
    ASSERT_TRUE(planes) << planes.error().to_string();
    expect_no_warnings(outcome.warnings);
    ASSERT_EQ(planes->planes.size(), expected->planes.size());
    for (std::size_t i = 0; i < planes->planes.size(); ++i) {
      EXPECT_LE(distance(planes->planes[i], expected->planes[i]).largest, kFullScaleBound) << i;
    }
  }
}

class ReducedDecode : public testing::TestWithParam<Cell> {};

TEST_P(ReducedDecode, PlanesAreThoseOfTheReference) {
  const auto codec = GetParam().codec.make();
  const auto reference = codec::make_reference_codec();
  if (!codec->capabilities().scaled_decode) GTEST_SKIP() << "decodes at full size only";
  for (const Case& c : cases_of(GetParam().layout, GetParam().coding)) {
    SCOPED_TRACE(c.name());
    const auto bytes = make_jpeg(c);
    const auto file = parse_or_die(bytes);
    for (const plan::Scales& scales : kReducedScales) {
      codec::CodecOutcome outcome;
      auto planes = codec->decode(file, scales, {}, outcome);
      ASSERT_TRUE(planes) << planes.error().to_string();
      auto expected = reference->decode(file, scales, {}, outcome);
      ASSERT_TRUE(expected) << expected.error().to_string();
      ASSERT_EQ(planes->planes.size(), expected->planes.size());
      for (std::size_t i = 0; i < planes->planes.size(); ++i) {
        const auto& component = file.frame.components[i];
        EXPECT_EQ(planes->planes[i].width_px, (component.width_px * scales[i] + 7) / 8);
        EXPECT_EQ(planes->planes[i].height_px, (component.height_px * scales[i] + 7) / 8);
        EXPECT_LE(distance(planes->planes[i], expected->planes[i]).largest, kReducedBound) << i;
      }
    }
  }
}

std::vector<Cell> cells_where(bool reference) {
  std::vector<Cell> cells = all_cells();
  std::erase_if(cells, [reference](const Cell& c) {
    return (c.codec.kind == CodecKind::kReference) != reference;
  });
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Matrix, FullDecode, testing::ValuesIn(all_cells()), cell_name);
INSTANTIATE_TEST_SUITE_P(Matrix, ReducedDecode, testing::ValuesIn(cells_where(false)), cell_name);

class ReferenceEntropy : public testing::TestWithParam<Cell> {};

TEST_P(ReferenceEntropy, CoefficientsAreBitExactlyThoseOfLibjpeg) {
  for (const Case& c : cases_of(GetParam().layout, GetParam().coding)) {
    SCOPED_TRACE(c.name());
    const auto bytes = make_jpeg(c);
    const auto expected = libjpeg_coefficients(bytes);
    ASSERT_TRUE(expected);
    ASSERT_EQ(expected->warning_count, 0);
    auto found = codec::reference::decode_coefficients(parse_or_die(bytes), {});
    ASSERT_TRUE(found) << found.error().to_string();
    expect_no_warnings(found->warnings);
    ASSERT_EQ(found->components.size(), expected->components.size());
    for (std::size_t i = 0; i < found->components.size(); ++i) {
      EXPECT_EQ(found->components[i].width_blocks, expected->components[i].stored_width_blocks);
      EXPECT_EQ(found->components[i].height_blocks, expected->components[i].stored_height_blocks);
      EXPECT_TRUE(found->components[i].blocks == expected->components[i].blocks) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, ReferenceEntropy, testing::ValuesIn(cells_where(true)), cell_name);

}  // namespace
}  // namespace framewire::conformance
