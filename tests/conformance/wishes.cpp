#include <optional>
#include <tests/conformance/wishes.hpp>
#include <utility>

namespace framewire::conformance {
namespace {

/// What adds background and what turns, alone and together, with odd widths at every side.
void add_placed(std::vector<Wish>& all) {
  ResizeOptions padded = sized(61, 35);
  padded.padding = {3, 5, 8, 9};
  padded.has_background = true;
  padded.background = {200, 30, 90};
  all.push_back({"padded_at_all_sides", padded});
  for (const auto& [name, sampling] :
       {std::pair{"keep", Sampling::kKeep}, std::pair{"444", Sampling::k444},
        std::pair{"422", Sampling::k422}, std::pair{"440", Sampling::k440},
        std::pair{"gray", Sampling::kGray}}) {
    padded.sampling = sampling;
    all.push_back({std::string("padded_at_all_sides_") + name, padded});
  }
  padded.sampling = Sampling::k420;
  padded.rotate = Rotation::k90;
  padded.flip = Flip::kHorizontal;
  all.push_back({"padded_turned_and_flipped", padded, 6});

  ResizeOptions extended = sized(101, 95);
  extended.resize = ResizeMode::kFit;
  extended.extend = Gravity{.anchor = Gravity::Anchor::kSoEa, .offset_x = 7, .offset_y = 3};
  all.push_back({"extended", extended});
  extended.extend_aspect_ratio = std::exchange(extended.extend, std::nullopt);
  extended.padding = {0, 0, 0, 5};
  all.push_back({"extended_to_the_shape", extended, 3});

  for (const Rotation rotation : {Rotation::k90, Rotation::k180, Rotation::k270}) {
    for (const Flip flip : {Flip::kNone, Flip::kHorizontal, Flip::kVertical}) {
      ResizeOptions turned = sized(61, 35);
      turned.rotate = rotation;
      turned.flip = flip;
      all.push_back({"turned_" + std::to_string(static_cast<int>(rotation)) + "_" +
                         std::to_string(static_cast<int>(flip)),
                     turned, 5});
    }
  }

  // A window that begins between pixels.
  ResizeOptions window = sized(47, 47);
  window.resize = ResizeMode::kFill;
  window.crop_width = 0.9;
  window.gravity.offset_x = 3;
  all.push_back({"window_between_pixels", window});
  window.rotate = Rotation::k270;
  all.push_back({"window_between_pixels_turned", window});
}

template <typename Change>
Wish wish(std::string name, ResizeOptions options, Change change) {
  Wish w{std::move(name), options, 1};
  change(w);
  return w;
}

}  // namespace

ResizeOptions sized(std::int32_t width, std::int32_t height, Sampling sampling) {
  ResizeOptions o;
  o.width_px = width;
  o.height_px = height;
  o.resize = ResizeMode::kForce;
  o.sampling = sampling;
  o.quality = 100;
  return o;
}

const std::vector<Wish>& all_wishes() {
  static const std::vector<Wish> wishes = [] {
    std::vector<Wish> all;
    const auto nothing = [](Wish&) {};
    all.push_back(wish("half", sized(125, 66), nothing));
    all.push_back(wish("quarter", sized(62, 33), nothing));
    all.push_back(wish("eighth_444", sized(31, 16, Sampling::k444), nothing));
    all.push_back(wish("sixteenth", sized(15, 9), nothing));
    all.push_back(wish("keep_sampling", sized(83, 41, Sampling::kKeep), nothing));
    all.push_back(wish("gray", sized(83, 41, Sampling::kGray), nothing));
    all.push_back(wish("same_size_422", sized(250, 131, Sampling::k422), nothing));
    all.push_back(wish("enlarged_440", sized(301, 199, Sampling::k440),
                       [](Wish& w) { w.options.enlarge = true; }));
    all.push_back(wish("one_pixel", sized(1, 1), nothing));
    all.push_back(
        wish("fit", sized(100, 100), [](Wish& w) { w.options.resize = ResizeMode::kFit; }));
    all.push_back(wish("fill_south_west", sized(60, 60), [](Wish& w) {
      w.options.resize = ResizeMode::kFill;
      w.options.gravity.anchor = Gravity::Anchor::kSoWe;
    }));
    all.push_back(wish("crop", sized(50, 0), [](Wish& w) {
      w.options.resize = ResizeMode::kFit;
      w.options.crop_width = 77;
      w.options.crop_height = 51;
    }));
    all.push_back(wish("padded", sized(101, 95), [](Wish& w) {
      w.options.resize = ResizeMode::kFit;
      w.options.has_background = true;
      w.options.background = {200, 30, 90};
    }));
    all.push_back(
        wish("sharpened", sized(125, 66), [](Wish& w) { w.options.sharpen_sigma = 0.8; }));
    for (const Kernel kernel :
         {Kernel::kBicubic, Kernel::kBilinear, Kernel::kArea, Kernel::kNearest}) {
      all.push_back(wish("kernel_" + std::to_string(static_cast<int>(kernel)), sized(91, 47),
                         [kernel](Wish& w) { w.options.kernel = kernel; }));
    }
    for (int orientation = 2; orientation <= 8; ++orientation) {
      all.push_back(wish("orientation_" + std::to_string(orientation), sized(61, 35),
                         [orientation](Wish& w) { w.orientation = orientation; }));
    }
    add_placed(all);
    return all;
  }();
  return wishes;
}

}  // namespace framewire::conformance
