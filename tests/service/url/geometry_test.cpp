// Sizes, windows and places of cases/geometry.jsonl: what imgproxy makes of the same words of a
// URL.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <plan/plan.hpp>
#include <service/url/resize_options.hpp>
#include <string>
#include <tests/service/url/cases.hpp>
#include <tests/unit/plan/inputs.hpp>
#include <transform/orient.hpp>
#include <vector>

namespace framewire::service::url::test {
namespace {

using nlohmann::json;

/// The options of a case, from the words of its URL.
ResizeOptions asked_for(const json& input) {
  UrlSettings settings;
  settings.allow_security_options = true;
  const auto request = parse_options(input.at("options"), settings);
  EXPECT_EQ(outcome(request), "ok");
  if (!request) return {};
  Limits limits;
  // Some cases ask for more pixels than the defaults allow; this test is of sizes.
  limits.max_output_side_px = 65'500;
  limits.max_output_pixels = 1'000'000'000'000;
  const auto options = to_resize_options(request->options, limits);
  EXPECT_EQ(outcome(options), "ok");
  if (!options) return {};
  EXPECT_TRUE(validate(*options));
  return *options;
}

std::string size_name(std::int32_t width, std::int32_t height) {
  return std::to_string(width) + "×" + std::to_string(height);
}

std::string size_name(const json& size) { return size_name(size.at("width"), size.at("height")); }

using Numbers = std::vector<std::int64_t>;

/// Rectangles of one step, as the case has them.
Numbers found(const std::string& step, const plan::Geometry& g) {
  if (step == "crop") return {g.crop.x, g.crop.y, g.crop.width, g.crop.height};
  if (step == "result_crop") {
    return {g.window_x_px, g.window_y_px, g.picture_width_px, g.picture_height_px};
  }
  EXPECT_TRUE(step == "extend" || step == "extend_ar") << step;
  return {g.offset_x_px, g.offset_y_px, g.canvas_width_px, g.canvas_height_px};
}

void expect_details(const json& all, const plan::Geometry& g) {
  const json details = all.value("detail", json::object());
  for (const auto& [step, expected] : details.items()) {
    EXPECT_EQ(found(step, g), expected.get<Numbers>()) << step;
  }
  if (!all.contains("dpr_used")) return;
  EXPECT_NEAR(g.dpr, all.at("dpr_used"), 1e-8);
}

TEST(GeometryOfUrls, SizesAndPlacesAreImgproxys) {
  const auto cases = read_cases("geometry.jsonl");
  EXPECT_EQ(cases.size(), 254u);
  int details = 0;
  for (const json& all : cases) {
    const json& input = all.at("input");
    SCOPED_TRACE(all.at("id").get<std::string>() + " " + input.at("options").get<std::string>());
    const std::int32_t width = input.at("width");
    const std::int32_t height = input.at("height");
    plan::HeaderOnly file(plan::ycbcr(width, height, 2, 2));
    file.file.orientation = input.at("orientation");
    const ResizeOptions options = asked_for(input);
    const auto planned = plan::make_plan(file.file, options, {}, false);
    ASSERT_TRUE(planned) << planned.error().to_string();
    const std::string made = size_name(planned->encode.width_px, planned->encode.height_px);
    const std::string expected = size_name(all.at("expect"));
    const json& other = all.value("imgproxy_shrink_on_load", all.at("expect"));
    EXPECT_TRUE(made == expected || made == size_name(other)) << made << ", not " << expected;
    const bool swapped = transform::swaps_axes(planned->orientation);
    const auto g = plan::make_geometry(swapped ? height : width, swapped ? width : height, options);
    ASSERT_TRUE(g);
    expect_details(all, *g);
    details += all.contains("detail") ? 1 : 0;
  }
  EXPECT_EQ(details, 108);
}

}  // namespace
}  // namespace framewire::service::url::test
