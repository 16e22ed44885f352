#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <sys/mman.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <extension/dlpack_export.hpp>
#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <extension/tensor.hpp>
#include <extension/without_gil.hpp>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace framewire::python {
namespace nb = nanobind;

namespace {

// What consumers of DLPack may ask for at most.
constexpr std::size_t kAlignment = 256;
// Larger batches lie in huge pages, where the system has them. Measured with 128 images of 500×375
// to float32 of 224×224, one thread: 0.8 ms an image, and 1.35 ms in pages of 4 KiB.
constexpr std::size_t kHugePage = 2u << 20;

std::shared_ptr<void> allocate(std::size_t bytes) {
  const bool huge = bytes >= 2 * kHugePage;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
  if (rounded < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) (void)madvise(memory, rounded, MADV_HUGEPAGE);  // refused: slower, no more
  return {memory, &std::free};
}

using Pair = std::pair<std::int64_t, std::int64_t>;

// The consumer's stream, as DLPack counts: 1 and 2 are CUDA's default streams, -1 says that nothing
// needs to be ordered. The batch is there for every stream already; where it is used must be known
// before the memory is used again.
void note_consumer(const BatchTensor& self, nb::handle stream) {
  if (stream.is_none()) {
    self.block()->note_use(CudaStream::legacy_default());
    return;
  }
  const std::optional<std::int64_t> number = to_int64(stream);
  if (!number) throw nb::type_error("stream: accepted: an int, or None");
  if (*number == -1) {
    self.block()->note_unknown_use();
    return;
  }
  if (*number < 1) {
    throw nb::buffer_error(
        "stream: 0 is ambiguous, and only -1 is negative; accepted: 1 for the legacy default "
        "stream, 2 for the per-thread one, a cudaStream_t, -1, or None");
  }
  const CudaStream named(reinterpret_cast<void*>(static_cast<std::uintptr_t>(*number)));
  if (const auto good = check_stream(named, self.device()); !good) {
    throw nb::buffer_error(("stream: " + good.error().message()).c_str());
  }
  self.block()->note_use(named);
}

// A copy of a batch in host memory, for consumers that ask for it there.
std::shared_ptr<void> copy_of(const BatchTensor& self) {
  auto memory = allocate(self.bytes());
  if (self.block() == nullptr) {
    std::memcpy(memory.get(), self.data(), self.bytes());
    return memory;
  }
  Result<void> copied;
  {
    const WithoutGil released;
    copied = copy_to_host(memory.get(), self.data(), self.bytes(), self.device());
  }
  if (!copied) raise(copied.error());
  return memory;
}

nb::object to_dlpack(const BatchTensor& self, nb::object stream, std::optional<Pair> max_version,
                     std::optional<Pair> dl_device, std::optional<bool> copy) {
  const bool on_device = self.block() != nullptr;
  const Pair here(on_device ? dlpack::kCuda : dlpack::kCpu, std::max(self.device(), 0));
  const bool to_host = on_device && dl_device == Pair(dlpack::kCpu, 0);
  const bool copied = to_host || copy.value_or(false);
  if (!on_device && !stream.is_none()) {
    throw nb::buffer_error("stream: memory of the host has no stream; accepted: None");
  }
  if (dl_device && *dl_device != here && !to_host) {
    throw nb::buffer_error(("dl_device: the tensor is in memory of (" + std::to_string(here.first) +
                            ", " + std::to_string(here.second) + "); accepted: that, or None" +
                            (on_device ? ", or (1, 0) for a copy in host memory" : ""))
                               .c_str());
  }
  if (to_host && !copy.value_or(true)) {
    throw nb::buffer_error("copy: host memory takes a copy; accepted: True or None");
  }
  if (copied && on_device && !to_host) {
    throw nb::buffer_error(
        "copy: accepted for a GPU's memory: False or None; let the consumer copy");
  }
  if (on_device && !to_host) note_consumer(self, stream);
  const auto device = to_host ? dlpack::Device{dlpack::kCpu, 0}
                              : dlpack::Device{static_cast<std::int32_t>(here.first),
                                               static_cast<std::int32_t>(here.second)};
  return make_capsule({copied ? copy_of(self) : self.memory(), device, self.element().dlpack,
                       self.shape(), self.strides(), max_version && max_version->first >= 1,
                       copied});
}

nb::tuple shape_of(const BatchTensor& self) {
  const Shape& shape = self.shape();
  return nb::make_tuple(shape[0], shape[1], shape[2], shape[3]);
}

nb::dict cuda_array_interface(const BatchTensor& self) {
  const char* const code = self.element().typestr;
  if (self.block() == nullptr || code == nullptr) {
    throw nb::attribute_error(self.block() == nullptr
                                  ? "__cuda_array_interface__: the tensor is in host memory"
                                  : "__cuda_array_interface__ has no bfloat16; accepted: DLPack");
  }
  self.block()->note_unknown_use();  // which the protocol does not ask about
  nb::dict facts;
  facts["shape"] = shape_of(self);
  facts["typestr"] = code;
  facts["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(self.data()), false);
  facts["strides"] = nb::none();
  facts["stream"] = nb::none();  // nothing to wait for: the batch is there
  facts["version"] = 3;
  return facts;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (!is_made(self)) return -1;
  return nb::inst_ptr<BatchTensor>(self)->fill(self, view, flags);
}

const PyType_Slot kSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                              {0, nullptr}};

nb::object to_numpy(nb::handle_t<BatchTensor> self, nb::object dtype, nb::object copy) {
  const nb::object view = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return nb::module_::import_("numpy").attr("array")(view, nb::arg("dtype") = dtype,
                                                     nb::arg("copy") = copy);
}

}  // namespace

BatchTensor::BatchTensor(TensorType type, const Shape& shape, int device)
    : element_(&element_of(type)),
      shape_(shape),
      bytes_(bytes_of(*element_, shape)),
      device_(device) {
  std::int64_t stride = 1;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    strides_[i] = stride;
    buffer_shape_[i] = static_cast<Py_ssize_t>(shape_[i]);
    buffer_strides_[i] = static_cast<Py_ssize_t>(stride * element_->bytes);
    stride *= shape_[i];
  }
}

BatchTensor::BatchTensor(TensorType type, const Shape& shape) : BatchTensor(type, shape, -1) {
  memory_ = allocate(bytes_);
}

BatchTensor::BatchTensor(TensorType type, const Shape& shape, int device,
                         std::shared_ptr<DeviceBlock> block)
    : BatchTensor(type, shape, device) {
  block_ = std::move(block);
  memory_ = {block_, block_->data()};
}

int BatchTensor::fill(PyObject* self, Py_buffer* view, int flags) const {
  const auto asks = [flags](int what) { return (flags & what) == what; };
  view->obj = nullptr;
  if (block_ != nullptr) {
    PyErr_SetString(
        PyExc_BufferError,
        "the tensor is in a GPU's memory; accepted: DLPack or __cuda_array_interface__, "
        "as in torch.from_dlpack(tensor), or numpy.from_dlpack(tensor, device=\"cpu\") "
        "for a copy");
    return -1;
  }
  if (element_->format == nullptr) {
    PyErr_SetString(PyExc_BufferError,
                    "the buffer protocol and NumPy have no bfloat16; accepted: DLPack, as in "
                    "torch.from_dlpack(tensor), or a TensorDecoder of another dtype");
    return -1;
  }
  if (asks(PyBUF_F_CONTIGUOUS) && !asks(PyBUF_ANY_CONTIGUOUS)) {
    PyErr_SetString(PyExc_BufferError, "the tensor is C-contiguous, not Fortran-contiguous");
    return -1;
  }
  const bool with_shape = asks(PyBUF_ND);
  view->buf = memory_.get();
  Py_INCREF(self);
  view->obj = self;
  view->len = static_cast<Py_ssize_t>(bytes_);
  view->itemsize = static_cast<Py_ssize_t>(element_->bytes);
  view->readonly = 0;
  view->ndim = with_shape ? static_cast<int>(shape_.size()) : 1;
  view->format = asks(PyBUF_FORMAT) ? const_cast<char*>(element_->format) : nullptr;
  view->shape = with_shape ? const_cast<Py_ssize_t*>(buffer_shape_) : nullptr;
  view->strides = asks(PyBUF_STRIDES) ? const_cast<Py_ssize_t*>(buffer_strides_) : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

void bind_tensor(nb::module_& module) {
  nb::class_<BatchTensor>(
      module, "Tensor", nb::type_slots(kSlots),
      "A batch in host memory or in a GPU's: C-contiguous, writable, its shape (N, channels, "
      "height,\n"
      "width) or (N, height, width, channels).\n\n"
      "In host memory: torch.from_dlpack(tensor), numpy.asarray(tensor) and memoryview(tensor) "
      "share\n"
      "its memory, and keep it alive: it outlives the Batch and the TensorDecoder. bfloat16, "
      "which\n"
      "NumPy and the buffer protocol lack, goes by DLPack alone.\n\n"
      "In a GPU's: torch.from_dlpack(tensor), cupy.from_dlpack(tensor) and whatever else takes "
      "DLPack\n"
      "or __cuda_array_interface__ (version 3) share it and keep it alive. The batch is there for\n"
      "every stream. Memory that is let go of is written again by a later batch of the decoder, "
      "after\n"
      "work in the stream that took it over; work in further streams must be over by then.\n"
      "numpy.from_dlpack(tensor, device=\"cpu\") copies it to host memory.")
      .def_prop_ro("shape", &shape_of, "(N, channels, height, width), or the layout's order.")
      .def_prop_ro(
          "dtype", [](const BatchTensor& self) { return text(self.element().name); },
          "str: \"uint8\", \"float16\", \"bfloat16\" or \"float32\".")
      .def_prop_ro(
          "device", [](const BatchTensor& self) { return text(device_name(self.device())); },
          "str: \"cpu\", or \"cuda:0\" for the GPU of ordinal 0.")
      .def_prop_ro("nbytes", &BatchTensor::bytes, "int: bytes of all elements.")
      .def("__reduce__",
           [](const BatchTensor&) -> nb::object {
             throw nb::type_error(
                 "a Tensor is memory, and cannot be copied or pickled; accepted: what takes it "
                 "over, "
                 "as tensor.numpy() or torch.from_dlpack(tensor)");
           })
      .def(
          "numpy",
          [](nb::handle_t<BatchTensor> self) {
            return to_numpy(self, nb::none(), nb::bool_(false));
          },
          "A NumPy array of the same memory. Raises BufferError for bfloat16 and a GPU's memory.")
      .def("__array__", &to_numpy, nb::arg("dtype").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__",
           [](const BatchTensor& self) {
             const std::int32_t type = self.block() != nullptr ? dlpack::kCuda : dlpack::kCpu;
             return nb::make_tuple(type, std::max(self.device(), 0));
           })
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface)
      .def("__len__", [](const BatchTensor& self) { return self.shape()[0]; })
      .def("__repr__", [](const BatchTensor& self) {
        return text("<framewire.Tensor " + std::string(self.element().name) + ' ' +
                    shape_text(self.shape().data(), 4) + " on " + device_name(self.device()) + '>');
      });
}

}  // namespace framewire::python
