#include <nanobind/stl/array.h>
#include <nanobind/stl/string_view.h>
#include <deque>
#include <extension/buffer.hpp>
#include <extension/decoded_images.hpp>
#include <extension/element.hpp>
#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <extension/options.hpp>
#include <extension/output_tensor.hpp>
#include <extension/tensor.hpp>
#include <extension/tensor_decoder.hpp>
#include <extension/without_gil.hpp>
#include <new>
#include <optional>
#include <string>
#include <utility>
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
  const nb::list sides = to_list(
      object, "crops", "one for each image, (left, top, width, height) in pixels or None", index);
  const std::size_t count = nb::len(sides);
  std::optional<std::int32_t> numbers[4];
  for (std::size_t i = 0; i < count && i < 4; ++i) numbers[i] = to_int32(sides[i]);
  if (count == 4 && numbers[0] && numbers[1] && numbers[2] && numbers[3]) {
    return CropBox{*numbers[0], *numbers[1], *numbers[2], *numbers[3]};
  }
  raise_at(Status(StatusCode::kInvalidInput,
                  "found " + shown(object) +
                      "; accepted: (left, top, width, height), whole numbers of pixels, or None "
                      "for the whole picture")
               .about("crops"),
           index);
}

// Of NumPy's bool, or an array of one that has no dimensions.
bool is_array_of_bool(nb::handle object) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "shape")) return false;
  const nb::object dtype = object.attr("dtype");
  return nb::hasattr(dtype, "kind") && dtype.attr("kind").equal(nb::str("b")) &&
         object.attr("shape").equal(nb::tuple());
}

// A bool, NumPy's included, or 0 or 1. Other objects have a truth, too, which nobody means: that of
// "False", of a probability.
bool to_flip(nb::handle object, std::size_t index) {
  if (object.is(Py_True) || object.is(Py_False)) return object.is(Py_True);
  if (is_array_of_bool(object)) return PyObject_IsTrue(object.ptr()) > 0;
  if (const auto number = to_uint64(object); number && *number <= 1) return *number == 1;
  raise_at(Status(StatusCode::kInvalidInput,
                  "found " + shown(object) + "; accepted: True, False, 0 or 1 for each image")
               .about("flips"),
           index);
}

// A step of a batch. What it needs of memory may be there later.
template <typename Step>
auto or_busy(const Step& step) try {
  return step();
} catch (const std::bad_alloc&) {
  raise(Status(StatusCode::kBusy, "memory ran out"));
}

// What the library says of a device it says of the option.
[[noreturn]] void raise_about_device(const Status& status) {
  if (!status.subject().empty()) raise(status);
  raise(Status(status.code(), status.message()).about("device"));
}

DecoderHandle* make(int device, int width, int height, int type, int layout, int color,
                    std::string_view kernel, std::array<float, 3> mean, std::array<float, 3> stddev,
                    bool antialias, bool fast, bool exif, unsigned threads, const Options& limits) {
  ResizeOptions words;
  if (const auto set = set_option(words, "kernel", kernel); !set) raise(set.error());
  TensorOptions options;
  options.device = device;
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
  std::shared_ptr<DeviceMemory> memory;
  Result<TensorDecoder> decoder = fail(StatusCode::kInternal, "not made");
  {
    const WithoutGil released;  // a device's context takes a second
    decoder = TensorDecoder::make(options);
    if (decoder && device >= 0) {
      auto made = DeviceMemory::make(device);
      if (made) {
        memory = std::move(*made);
      } else {
        decoder = fail(made.error());
      }
    }
  }
  if (!decoder && device >= 0 && decoder.error().code() == StatusCode::kUnsupported) {
    raise_about_device(decoder.error());
  }
  if (!decoder) raise(decoder.error());
  return new DecoderHandle(std::move(*decoder), std::move(memory));
}

}  // namespace

struct DecoderHandle::Batch {
  std::deque<InputBuffer> inputs;  // which do not move
  std::vector<TensorItem> items;
  Shape shape{};
  std::size_t bytes = 0;
  CudaStream stream = CudaStream::legacy_default();
  std::optional<OutputTensor> borrowed;  // what was given, or
  std::unique_ptr<BatchTensor> own;
  std::vector<Result<TensorImage>> images;
  nb::object out;  // that was given
};

DecoderHandle::DecoderHandle(TensorDecoder&& decoder, std::shared_ptr<DeviceMemory> memory)
    : fork_count_(fork_count()),
      options_(decoder.options()),
      channels_(decoder.channels()),
      decoder_(std::make_unique<TensorDecoder>(std::move(decoder))),
      memory_(std::move(memory)) {}

DecoderHandle::~DecoderHandle() {
  if (forked()) {
    (void)decoder_.release();  // its destructor would wait for threads of another process
    return;
  }
  close();
}

void DecoderHandle::close() {
  if (forked()) return;
  const WithoutGil released;
  const std::lock_guard lock(mutex_);
  for (BatchUnderWay* batch : std::exchange(under_way_, {})) batch->made_.reset();
  decoder_.reset();
  if (memory_ != nullptr) memory_->close();
}

void DecoderHandle::read_arguments(Batch& batch, nb::handle jpegs, nb::handle crops,
                                   nb::handle flips) const {
  const nb::list files =
      to_list(jpegs, "jpegs",
              "a list of JPEG streams, each bytes or another object with its buffer; for "
              "one image [jpeg]");
  const std::size_t count = nb::len(files);
  batch.items.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    batch.inputs.emplace_back(nb::object(files[i]), i);
    batch.items[i].jpeg = batch.inputs.back().bytes();
  }
  if (!crops.is_none()) {
    const nb::list boxes = to_list_of(
        count, crops, "crops", "one for each image, (left, top, width, height) in pixels or None");
    for (std::size_t i = 0; i < count; ++i) batch.items[i].crop = to_box(nb::object(boxes[i]), i);
  }
  if (!flips.is_none()) {
    const nb::list each = to_list_of(count, flips, "flips", "one bool for each image");
    for (std::size_t i = 0; i < count; ++i) batch.items[i].flip = to_flip(nb::object(each[i]), i);
  }
}

void DecoderHandle::find_memory(Batch& batch, nb::handle out) const {
  const Element& element = element_of(options_.type);
  batch.shape = shape_of(options_, channels_, batch.items.size());
  batch.bytes = bytes_of(element, batch.shape);
  if (!out.is_none()) {
    batch.borrowed.emplace(out, OutputTerms{element, batch.shape, options_.device, batch.stream});
    return;
  }
  if (memory_ != nullptr) return;
  try {
    batch.own = std::make_unique<BatchTensor>(options_.type, batch.shape);
  } catch (const std::bad_alloc&) {
    raise(Status(StatusCode::kBusy, "found no memory for a batch of " +
                                        std::to_string(batch.bytes) +
                                        " bytes; accepted: fewer images, or `out`"));
  }
}

Result<DeviceTensorView> DecoderHandle::find_place(Batch& batch) {
  CudaStream after = batch.stream;
  if (batch.borrowed && batch.borrowed->pending()) {
    auto done = synchronise(*batch.borrowed->pending(), options_.device);
    if (!done) return fail(done.error());
  } else if (!batch.borrowed) {
    auto taken = memory_->take(batch.bytes, batch.stream);
    if (!taken) return fail(taken.error());
    after = taken->free_after;
    batch.own = std::make_unique<BatchTensor>(options_.type, batch.shape, options_.device,
                                              std::move(taken->block));
  }
  return DeviceTensorView{batch.own ? batch.own->data() : batch.borrowed->data(), batch.bytes,
                          after, nullptr};
}

// Without the GIL.
Result<void> DecoderHandle::run(Batch& batch) {
  const std::lock_guard lock(mutex_);
  if (decoder_ == nullptr) return fail(StatusCode::kCancelled, "closed");
  Result<void> done;
  if (memory_ == nullptr) {
    void* const to = batch.own ? batch.own->data() : batch.borrowed->data();
    done = decoder_->decode(batch.items, {to, batch.bytes, nullptr});
  } else {
    const auto place = find_place(batch);
    if (!place) return fail(place.error());
    if (auto good = check_place(*place); !good) return good;
    done = decoder_->decode_to_device(batch.items, *place);
  }
  if (!done) return done;
  batch.images.reserve(batch.items.size());
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    batch.images.push_back(decoder_->image(i));
  }
  return {};
}

Result<void> DecoderHandle::check_place(const DeviceTensorView& place) const {
  const auto* const begin = static_cast<const std::uint8_t*>(place.data);
  for (const BatchUnderWay* other : under_way_) {
    const std::span used = other->place_;
    if (begin < used.data() + used.size() && used.data() < begin + place.bytes) {
      return fail(
          StatusCode::kInvalidInput,
          "found memory of a batch that is still under way; accepted: memory of its own for "
          "each batch under way");
    }
  }
  return {};
}

// Without the GIL.
Result<void> DecoderHandle::begin(BatchUnderWay& batch) {
  const std::lock_guard lock(mutex_);
  if (decoder_ == nullptr) return fail(StatusCode::kCancelled, "closed");
  const auto place = find_place(*batch.batch_);
  if (!place) return fail(place.error());
  if (auto good = check_place(*place); !good) return good;
  under_way_.reserve(under_way_.size() + 1);
  auto begun = decoder_->begin_to_device(batch.batch_->items, *place);
  if (!begun) return fail(begun.error());
  batch.place_ = {static_cast<const std::uint8_t*>(place->data), place->bytes};
  batch.made_ = std::move(*begun);
  under_way_.push_back(&batch);
  return {};
}

std::unique_ptr<DecoderHandle::Batch> DecoderHandle::make_batch(nb::handle jpegs, nb::handle crops,
                                                                nb::handle flips, nb::handle out,
                                                                std::uint64_t stream) const {
  if (forked()) {
    raise_closed(
        "the decoder belongs to the parent of this process, and none of its threads is here; make "
        "a decoder in each process, after fork()");
  }
  auto batch = std::make_unique<Batch>();
  if (stream != 0) batch->stream = CudaStream(reinterpret_cast<void*>(stream));
  if (memory_ != nullptr) {
    if (const auto good = check_stream(batch->stream, options_.device); !good) raise(good.error());
  }
  read_arguments(*batch, jpegs, crops, flips);
  find_memory(*batch, out);
  batch->out = nb::borrow(out);
  return batch;
}

nb::tuple DecoderHandle::result_of(Batch& batch, const Result<void>& done) {
  if (!done && done.error().code() == StatusCode::kCancelled) {
    raise_closed("the decoder was closed; make another one");
  }
  if (!done && batch.borrowed && done.error().code() == StatusCode::kInvalidInput) {
    raise(Status(done.error().code(), done.error().message()).about("out"));
  }
  if (!done) raise(done.error());
  const nb::object tensor =
      batch.own ? nb::cast(batch.own.release(), nb::rv_policy::take_ownership) : batch.out;
  return nb::make_tuple(
      tensor, nb::cast(new DecodedImages(std::move(batch.images)), nb::rv_policy::take_ownership));
}

nb::tuple DecoderHandle::decode(nb::handle jpegs, nb::handle crops, nb::handle flips,
                                nb::handle out, std::uint64_t stream) {
  return or_busy([&] {
    const auto batch = make_batch(jpegs, crops, flips, out, stream);
    Result<void> done;
    {
      const WithoutGil released;
      done = run(*batch);
    }
    return result_of(*batch, done);
  });
}

std::unique_ptr<BatchUnderWay> DecoderHandle::begin(nb::handle_t<DecoderHandle> self,
                                                    nb::handle jpegs, nb::handle crops,
                                                    nb::handle flips, nb::handle out,
                                                    std::uint64_t stream) {
  return or_busy([&] {
    DecoderHandle& handle = *nb::inst_ptr<DecoderHandle>(self);
    auto batch = std::make_unique<BatchUnderWay>(
        nb::borrow(self), handle.make_batch(jpegs, crops, flips, out, stream));
    Result<void> begun;
    {
      const WithoutGil released;
      begun = handle.begin(*batch);
    }
    if (!begun) (void)result_of(*batch->batch_, begun);
    return batch;
  });
}

BatchUnderWay::BatchUnderWay(nb::object decoder, std::unique_ptr<DecoderHandle::Batch> batch)
    : decoder_(std::move(decoder)), batch_(std::move(batch)) {}

BatchUnderWay::~BatchUnderWay() {
  if (decoder().forked()) {
    if (made_) (void)new TensorBatch(std::move(*made_));  // would wait for another process' device
    return;
  }
  const WithoutGil released;
  const std::lock_guard lock(decoder().mutex_);
  forget();
}

DecoderHandle& BatchUnderWay::decoder() const { return *nb::inst_ptr<DecoderHandle>(decoder_); }

void BatchUnderWay::forget() {
  made_.reset();
  std::erase(decoder().under_way_, this);
}

nb::tuple BatchUnderWay::wait() {
  if (decoder().forked()) {
    raise_closed("the batch belongs to the parent of this process");
  }
  std::unique_ptr<DecoderHandle::Batch> batch;
  Result<void> done = fail(StatusCode::kCancelled, "closed");
  {
    const WithoutGil released;
    const std::lock_guard lock(decoder().mutex_);
    batch = std::exchange(batch_, nullptr);
    if (batch != nullptr && made_) {
      done = made_->wait();
      batch->images.reserve(batch->items.size());
      for (std::size_t i = 0; done && i < batch->items.size(); ++i) {
        batch->images.push_back(made_->image(i));
      }
    }
    forget();
  }
  if (batch == nullptr) raise(Status(StatusCode::kInternal, "the batch was waited for before"));
  return DecoderHandle::result_of(*batch, done);
}

void bind_tensor_decoder(nb::module_& module) {
  nb::class_<BatchUnderWay>(module, "BatchUnderWay").def("wait", &BatchUnderWay::wait);
  nb::class_<DecoderHandle>(module, "TensorDecoder")
      .def(nb::new_(&make), nb::arg("device"), nb::arg("width"), nb::arg("height"), nb::arg("type"),
           nb::arg("layout"), nb::arg("color"), nb::arg("kernel"), nb::arg("mean"), nb::arg("std"),
           nb::arg("antialias"), nb::arg("fast"), nb::arg("exif"), nb::arg("threads"),
           nb::arg("limits"))
      .def("decode", &DecoderHandle::decode, nb::arg("jpegs").none(), nb::arg("crops").none(),
           nb::arg("flips").none(), nb::arg("out").none(), nb::arg("stream"))
      .def(
          "begin",
          [](nb::handle_t<DecoderHandle> self, nb::handle jpegs, nb::handle crops, nb::handle flips,
             nb::handle out, std::uint64_t stream) {
            return DecoderHandle::begin(self, jpegs, crops, flips, out, stream).release();
          },
          nb::arg("jpegs").none(), nb::arg("crops").none(), nb::arg("flips").none(),
          nb::arg("out").none(), nb::arg("stream"))
      .def("close", &DecoderHandle::close)
      .def("threads", [](const DecoderHandle& self) { return self.options().threads; });
}

}  // namespace framewire::python
