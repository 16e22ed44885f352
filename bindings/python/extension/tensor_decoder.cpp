#include <nanobind/stl/array.h>
#include <nanobind/stl/string_view.h>
#include <unistd.h>
#include <deque>
#include <extension/buffer.hpp>
#include <extension/element.hpp>
#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <extension/options.hpp>
#include <extension/output_tensor.hpp>
#include <extension/tensor.hpp>
#include <extension/tensor_decoder.hpp>
#include <extension/without_gil.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::python {
namespace nb = nanobind;

namespace {

Shape shape_of(const TensorOptions& options, int channels, std::size_t count) {
  const auto images = static_cast<std::int64_t>(count);
  if (options.layout == TensorLayout::kNhwc) {
    return {images, options.height_px, options.width_px, channels};
  }
  return {images, channels, options.height_px, options.width_px};
}

std::optional<CropBox> to_box(nb::handle object, std::size_t index) {
  if (object.is_none()) return std::nullopt;
  const nb::list sides =
      to_list(object, "crops", "one for each image, (left, top, width, height) in pixels or None");
  const std::size_t count = nb::len(sides);
  std::optional<std::int32_t> numbers[4];
  for (std::size_t i = 0; i < count && i < 4; ++i) numbers[i] = to_int32(sides[i]);
  if (count == 4 && numbers[0] && numbers[1] && numbers[2] && numbers[3]) {
    return CropBox{*numbers[0], *numbers[1], *numbers[2], *numbers[3]};
  }
  raise_at(Status(StatusCode::kInvalidInput,
                  std::string("found ") + nb::repr(object).c_str() +
                      "; accepted: (left, top, width, height), whole numbers of pixels, or None "
                      "for the whole picture")
               .about("crops"),
           index);
}

bool is_true(nb::handle object) {
  const int value = PyObject_IsTrue(object.ptr());
  if (value < 0) throw nb::python_error();
  return value != 0;
}

// The input of an image; what is wrong with it carries the image's index.
void add_input(std::deque<InputBuffer>& inputs, nb::handle jpeg) {
  try {
    inputs.emplace_back(jpeg);
  } catch (nb::python_error& error) {
    if (nb::hasattr(error.value(), "subject")) error.value().attr("index") = inputs.size();
    throw;
  }
}

// The message names the image already, and so does the exception's index.
nb::object error_of(const Status& status, std::size_t index) {
  nb::object error = exception_of(status);
  const std::string prefix = "image " + std::to_string(index) + ": ";
  if (const std::string& message = status.message(); message.starts_with(prefix)) {
    Status bare(status.code(), message.substr(prefix.size()));
    if (status.offset()) (void)std::move(bare).at(*status.offset());
    if (!status.subject().empty()) (void)std::move(bare).about(status.subject());
    error = exception_of(bare);
  }
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

DecoderHandle* make(int width, int height, int type, int layout, int color, std::string_view kernel,
                    std::array<float, 3> mean, std::array<float, 3> stddev, bool antialias,
                    bool fast, bool exif, unsigned threads, const Options& limits) {
  ResizeOptions words;
  if (const auto set = set_option(words, "kernel", kernel); !set) raise(set.error());
  TensorOptions options;
  options.width_px = width;
  options.height_px = height;
  options.type = static_cast<TensorType>(type);
  options.layout = static_cast<TensorLayout>(layout);
  options.color = static_cast<TensorColor>(color);
  options.kernel = words.kernel;
  options.antialias = antialias;
  options.fidelity = fast ? TensorFidelity::kFast : TensorFidelity::kExact;
  options.mean = mean;
  options.stddev = stddev;
  options.exif = exif;
  options.limits = limits.value.limits;
  options.threads = threads;
  auto decoder = TensorDecoder::make(options);
  if (!decoder) raise(decoder.error());
  return new DecoderHandle(std::move(*decoder));
}

}  // namespace

DecoderHandle::DecoderHandle(TensorDecoder&& decoder)
    : process_(getpid()),
      options_(decoder.options()),
      decoder_(std::make_unique<TensorDecoder>(std::move(decoder))) {}

DecoderHandle::~DecoderHandle() {
  if (getpid() != process_) {
    (void)decoder_.release();  // its destructor would wait for threads of another process
    return;
  }
  const WithoutGil released;
  decoder_.reset();
}

nb::tuple DecoderHandle::decode(nb::handle jpegs, nb::handle crops, nb::handle flips,
                                nb::handle out) {
  if (getpid() != process_) {
    raise_closed(
        "the decoder belongs to the parent of this process, and none of its threads is here; make "
        "a decoder in each process, after fork()");
  }
  const nb::list files =
      to_list(jpegs, "jpegs",
              "a list of JPEG streams, each bytes or another object with its buffer; for "
              "one image [jpeg]");
  const std::size_t count = nb::len(files);
  std::deque<InputBuffer> inputs;  // which do not move
  std::vector<TensorItem> items(count);
  for (std::size_t i = 0; i < count; ++i) {
    add_input(inputs, nb::object(files[i]));
    items[i].jpeg = inputs.back().bytes();
  }
  if (!crops.is_none()) {
    const nb::list boxes =
        to_list(crops, "crops", "one for each image, (left, top, width, height) in pixels or None");
    check_count(boxes, count, "crops");
    for (std::size_t i = 0; i < count; ++i) items[i].crop = to_box(nb::object(boxes[i]), i);
  }
  if (!flips.is_none()) {
    const nb::list each = to_list(flips, "flips", "one bool for each image");
    check_count(each, count, "flips");
    for (std::size_t i = 0; i < count; ++i) items[i].flip = is_true(nb::object(each[i]));
  }

  const Shape shape = shape_of(options_, decoder_->channels(), count);
  std::optional<OutputTensor> borrowed;
  std::unique_ptr<HostTensor> own;
  if (out.is_none()) {
    own = std::make_unique<HostTensor>(options_.type, shape);
  } else {
    borrowed.emplace(out, element_of(options_.type), shape);
  }
  void* const data = own ? own->data() : borrowed->data();
  Result<void> done;
  std::vector<Result<TensorImage>> images;
  {
    const WithoutGil released;
    const std::lock_guard lock(mutex_);
    done = decoder_->decode(items, {data, bytes_of(element_of(options_.type), shape), nullptr});
    if (done) {
      images.reserve(count);
      for (std::size_t i = 0; i < count; ++i) images.push_back(decoder_->image(i));
    }
  }
  if (!done) raise(done.error());

  nb::list errors;
  nb::list made;
  for (std::size_t i = 0; i < count; ++i) {
    errors.append(images[i] ? nb::object(nb::none()) : error_of(images[i].error(), i));
    made.append(images[i] ? nb::object(fields_of(*images[i])) : nb::object(nb::none()));
  }
  const nb::object tensor =
      own ? nb::cast(own.release(), nb::rv_policy::take_ownership) : nb::borrow(out);
  return nb::make_tuple(tensor, errors, made);
}

void bind_tensor_decoder(nb::module_& module) {
  nb::class_<DecoderHandle>(module, "TensorDecoder")
      .def(nb::new_(&make), nb::arg("width"), nb::arg("height"), nb::arg("type"), nb::arg("layout"),
           nb::arg("color"), nb::arg("kernel"), nb::arg("mean"), nb::arg("std"),
           nb::arg("antialias"), nb::arg("fast"), nb::arg("exif"), nb::arg("threads"),
           nb::arg("limits"))
      .def("decode", &DecoderHandle::decode, nb::arg("jpegs").none(), nb::arg("crops").none(),
           nb::arg("flips").none(), nb::arg("out").none())
      .def("threads", [](const DecoderHandle& self) { return self.options().threads; });
}

}  // namespace framewire::python
