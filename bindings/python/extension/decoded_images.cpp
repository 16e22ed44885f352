#include <extension/decoded_images.hpp>
#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <utility>

namespace framewire::python {
namespace nb = nanobind;

namespace {

nb::object error_of(const Status& status, std::size_t index) {
  nb::object error = exception_of(status);
  error.attr("index") = index;
  return error;
}

nb::tuple fields_of(const TensorImage& image) {
  nb::list warnings;
  for (const Warning& warning : image.warnings) {
    const nb::object offset = warning.offset ? nb::int_(*warning.offset) : nb::object(nb::none());
    warnings.append(nb::make_tuple(text(to_string(warning.kind)), text(warning.message), offset));
  }
  return nb::make_tuple(image.width_px, image.height_px, to_tuple(image.crop), image.orientation,
                        warnings);
}

}  // namespace

DecodedImages::DecodedImages(std::vector<Result<TensorImage>>&& images)
    : images_(std::move(images)) {}

nb::list DecodedImages::errors() const {
  nb::list errors;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    errors.append(images_[i] ? nb::object(nb::none()) : error_of(images_[i].error(), i));
  }
  return errors;
}

nb::list DecodedImages::fields() const {
  nb::list fields;
  for (const Result<TensorImage>& image : images_) {
    fields.append(image ? nb::object(fields_of(*image)) : nb::object(nb::none()));
  }
  return fields;
}

void bind_decoded_images(nb::module_& module) {
  nb::class_<DecodedImages>(module, "DecodedImages")
      .def("errors", &DecodedImages::errors)
      .def("fields", &DecodedImages::fields);
}

}  // namespace framewire::python
