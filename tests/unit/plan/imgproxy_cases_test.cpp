// Sizes, windows and places of cases/geometry.jsonl: what imgproxy makes of the same words.
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <plan/plan.hpp>
#include <sstream>
#include <string>
#include <tests/unit/plan/inputs.hpp>
#include <transform/orient.hpp>
#include <vector>

namespace framewire::plan {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

Arguments split(const std::string& text, char separator) {
  Arguments parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

Arguments from(const Arguments& all, std::size_t first) {
  return first < all.size() ? Arguments(all.begin() + static_cast<std::ptrdiff_t>(first), all.end())
                            : Arguments();
}

bool flag(const std::string& text) { return text == "1" || text == "t" || text == "true"; }

Gravity gravity(const Arguments& a) {
  std::string words = a.empty() ? "ce" : a[0];
  for (std::size_t i = 1; i < a.size(); ++i) words += ":" + a[i];
  ResizeOptions o;
  EXPECT_TRUE(set_option(o, "gravity", words)) << words;
  return o.gravity;
}

/// Type, size, enlarge, extend and its gravity, from the argument `first` on.
void set_size(ResizeOptions& o, const Arguments& a, std::size_t first) {
  const auto has = [&](std::size_t i) { return first + i < a.size() && !a[first + i].empty(); };
  if (has(0)) o.width_px = std::stoi(a[first]);
  if (has(1)) o.height_px = std::stoi(a[first + 1]);
  if (has(2)) o.enlarge = flag(a[first + 2]);
  if (has(3) && flag(a[first + 3])) o.extend = gravity(from(a, first + 4));
}

void set_crop(ResizeOptions& o, const Arguments& a) {
  const auto side = [](const std::string& text) { return text.empty() ? 0.0 : std::stod(text); };
  o.crop_width = a.empty() ? 0 : side(a[0]);
  o.crop_height = a.size() < 2 ? 0 : side(a[1]);
  if (a.size() > 2) o.crop_gravity = gravity(from(a, 2));
}

void set_padding(ResizeOptions& o, const Arguments& a) {
  const auto side = [&](std::size_t i, std::int32_t otherwise) {
    return i < a.size() && !a[i].empty() ? std::stoi(a[i]) : otherwise;
  };
  o.padding.top_px = side(0, 0);
  o.padding.right_px = side(1, o.padding.top_px);
  o.padding.bottom_px = side(2, o.padding.top_px);
  o.padding.left_px = side(3, o.padding.right_px);
}

void set_word(ResizeOptions& o, const std::string& word) {
  Arguments a = split(word, ':');
  ASSERT_GE(a.size(), 2u) << word;
  const std::string name = a[0];
  a.erase(a.begin());
  if (name == "rs") {
    EXPECT_TRUE(set_option(o, "resize", a[0])) << word;
    set_size(o, a, 1);
  } else if (name == "s") {
    set_size(o, a, 0);
  } else if (name == "w") {
    o.width_px = std::stoi(a[0]);
  } else if (name == "h") {
    o.height_px = std::stoi(a[0]);
  } else if (name == "mw") {
    o.min_width_px = std::stoi(a[0]);
  } else if (name == "mh") {
    o.min_height_px = std::stoi(a[0]);
  } else if (name == "z") {
    o.zoom_x = std::stod(a[0]);
    o.zoom_y = std::stod(a.back());
  } else if (name == "dpr") {
    o.dpr = std::stod(a[0]);
  } else if (name == "el") {
    o.enlarge = flag(a[0]);
  } else if (name == "ex") {
    if (flag(a[0])) o.extend = gravity(from(a, 1));
  } else if (name == "exar") {
    if (flag(a[0])) o.extend_aspect_ratio = gravity(from(a, 1));
  } else if (name == "g") {
    o.gravity = gravity(a);
  } else if (name == "c") {
    set_crop(o, a);
  } else if (name == "pd") {
    set_padding(o, a);
  } else if (name == "ar") {
    o.auto_orient = flag(a[0]);
  } else if (name == "rot") {
    o.rotate = static_cast<Rotation>(std::stoi(a[0]) / 90 % 4);
  } else if (name == "mrd") {
    o.max_result_side_px = std::stoi(a[0]);
  } else {
    ADD_FAILURE() << "no such option here: " << word;
  }
}

/// The words of a URL that decide sizes and places; others fail the test.
ResizeOptions from_imgproxy(const std::string& words) {
  ResizeOptions options;
  for (const std::string& word : split(words, '/')) set_word(options, word);
  return options;
}

struct SizeCase {
  std::string id;
  std::int32_t width = 0;
  std::int32_t height = 0;
  int orientation = 1;
  ResizeOptions options;
  Json all;
};

std::vector<SizeCase> read_cases() {
  const auto path = std::filesystem::path(FRAMEWIRE_DOCS).parent_path() / "tests" / "unit" /
                    "plan" / "cases" / "geometry.jsonl";
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::vector<SizeCase> cases;
  for (std::string line; std::getline(in, line);) {
    SizeCase c;
    c.all = Json::parse(line);
    c.id = c.all.at("id");
    const Json& input = c.all.at("input");
    c.width = input.at("width");
    c.height = input.at("height");
    c.orientation = input.at("orientation");
    c.options = from_imgproxy(input.at("options"));
    // Some cases ask for more pixels than the defaults allow; this test is of sizes.
    c.options.limits.max_output_side_px = 65'500;
    c.options.limits.max_output_pixels = 1'000'000'000'000;
    cases.push_back(c);
  }
  return cases;
}

std::string size_name(std::int32_t width, std::int32_t height) {
  return std::to_string(width) + "×" + std::to_string(height);
}

std::string size_name(const Json& size) { return size_name(size.at("width"), size.at("height")); }

using Numbers = std::vector<std::int32_t>;

void expect_details(const SizeCase& c, const Geometry& g) {
  const Json details = c.all.value("detail", Json::object());
  for (const auto& [name, value] : details.items()) {
    const Numbers expected = value.get<Numbers>();
    if (name == "crop") {
      EXPECT_EQ((Numbers{g.crop.x, g.crop.y, g.crop.width, g.crop.height}), expected) << name;
    } else if (name == "result_crop") {
      EXPECT_EQ((Numbers{g.window_x_px, g.window_y_px, g.picture_width_px, g.picture_height_px}),
                expected)
          << name;
    } else {
      EXPECT_TRUE(name == "extend" || name == "extend_ar") << name;
      EXPECT_EQ((Numbers{g.offset_x_px, g.offset_y_px, g.canvas_width_px, g.canvas_height_px}),
                expected)
          << name;
    }
  }
  if (!c.all.contains("dpr_used")) return;
  EXPECT_NEAR(g.dpr, c.all.at("dpr_used"), 1e-8);
}

TEST(ImgproxyCases, SizesAndPlacesAreThose) {
  const auto cases = read_cases();
  EXPECT_EQ(cases.size(), 254u);
  int details = 0;
  for (const SizeCase& c : cases) {
    SCOPED_TRACE(c.id + " " + c.all.at("input").at("options").get<std::string>());
    HeaderOnly input(ycbcr(c.width, c.height, 2, 2));
    input.file.orientation = c.orientation;
    const auto plan = make_plan(input.file, c.options, {}, false);
    ASSERT_TRUE(plan) << plan.error().to_string();
    const std::string made = size_name(plan->encode.width_px, plan->encode.height_px);
    const std::string expected = size_name(c.all.at("expect"));
    const Json& other = c.all.value("imgproxy_shrink_on_load", c.all.at("expect"));
    EXPECT_TRUE(made == expected || made == size_name(other)) << made << ", not " << expected;
    const bool swapped = transform::swaps_axes(plan->orientation);
    const auto g =
        make_geometry(swapped ? c.height : c.width, swapped ? c.width : c.height, c.options);
    ASSERT_TRUE(g);
    expect_details(c, *g);
    details += c.all.contains("detail") ? 1 : 0;
  }
  EXPECT_EQ(details, 108);
}

}  // namespace
}  // namespace framewire::plan
