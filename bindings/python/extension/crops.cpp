#include <extension/crops.hpp>
#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <framewire/random_crop.hpp>
#include <string>

namespace framewire::python {
namespace nb = nanobind;

namespace {

constexpr const char* kSizes =
    "one (width, height) for each image, as framewire.sizes() gives them";
constexpr const char* kSampleIds = "the number of each image in the data set";

PictureSize size_at(const nb::object& object, std::size_t index) {
  const nb::list sides = to_list(object, "sizes", kSizes, index);
  if (nb::len(sides) == 2) {
    const auto width = to_int32(sides[0]);
    const auto height = to_int32(sides[1]);
    if (width && height) return {*width, *height};
  }
  raise_at(Status(StatusCode::kInvalidInput,
                  "found " + shown(object) +
                      "; accepted: (width, height), whole numbers of pixels, or None")
               .about("sizes"),
           index);
}

std::uint64_t sample_at(const nb::object& object, std::size_t index) {
  if (const auto sample = to_uint64(object)) return *sample;
  raise_at(
      Status(StatusCode::kInvalidInput,
             "found " + shown(object) + "; accepted: whole numbers from 0 to 18446744073709551615")
          .about("sample_ids"),
      index);
}

// A box for each size. What has no size, None or an Error in its place, has no box either.
template <typename Draw>
nb::list boxes_of(const nb::list& sizes, const Draw& draw) {
  const nb::object error_class = nb::module_::import_("framewire._errors").attr("Error");
  nb::list boxes;
  for (std::size_t i = 0; i < nb::len(sizes); ++i) {
    const nb::object size(sizes[i]);
    if (size.is_none() || nb::isinstance(size, error_class)) {
      boxes.append(nb::none());
      continue;
    }
    const Result<CropBox> box = draw(size_at(size, i), i);
    if (!box) raise_at(box.error(), i);
    boxes.append(to_tuple(*box));
  }
  return boxes;
}

nb::list random_resized_crops(nb::handle sizes, std::uint64_t seed, std::uint32_t epoch,
                              nb::handle sample_ids, double min_area, double max_area,
                              double min_ratio, double max_ratio) {
  const RandomCropOptions options{min_area, max_area, min_ratio, max_ratio};
  const nb::list pictures = to_list(sizes, "sizes", kSizes);
  const nb::list samples = to_list_of(nb::len(pictures), sample_ids, "sample_ids", kSampleIds);
  return boxes_of(pictures, [&](PictureSize size, std::size_t i) {
    const SampleKey key{seed, epoch, sample_at(nb::object(samples[i]), i)};
    return random_resized_crop(size.width_px, size.height_px, key, options);
  });
}

nb::list random_flips(std::uint64_t seed, std::uint32_t epoch, nb::handle sample_ids,
                      double probability) {
  const nb::list samples = to_list(sample_ids, "sample_ids", kSampleIds);
  nb::list flips;
  for (std::size_t i = 0; i < nb::len(samples); ++i) {
    const SampleKey key{seed, epoch, sample_at(nb::object(samples[i]), i)};
    flips.append(nb::bool_(random_flip(key, probability)));
  }
  return flips;
}

template <auto kCrop>
nb::list center_crops(nb::handle sizes, std::int32_t width_px, std::int32_t height_px) {
  return boxes_of(to_list(sizes, "sizes", kSizes), [&](PictureSize size, std::size_t) {
    return kCrop(size.width_px, size.height_px, width_px, height_px);
  });
}

}  // namespace

void bind_crops(nb::module_& module) {
  module.def("random_resized_crops", &random_resized_crops, nb::arg("sizes").none(),
             nb::arg("seed"), nb::arg("epoch"), nb::arg("sample_ids").none(), nb::arg("min_area"),
             nb::arg("max_area"), nb::arg("min_ratio"), nb::arg("max_ratio"));
  module.def("random_flips", &random_flips, nb::arg("seed"), nb::arg("epoch"),
             nb::arg("sample_ids").none(), nb::arg("p"));
  module.def("center_crops", &center_crops<&center_crop>, nb::arg("sizes").none(), nb::arg("width"),
             nb::arg("height"));
  module.def("center_crops_to_shape", &center_crops<&center_crop_to_shape>, nb::arg("sizes").none(),
             nb::arg("width"), nb::arg("height"));
}

}  // namespace framewire::python
