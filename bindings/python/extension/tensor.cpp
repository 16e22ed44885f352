#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <sys/mman.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <extension/dlpack.hpp>
#include <extension/errors.hpp>
#include <extension/tensor.hpp>
#include <new>
#include <optional>
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

// What a consumer holds: a share of the memory, and the arrays that its tensor points to.
template <typename Managed>
struct Exported {
  Managed managed;
  Shape shape;
  Shape strides;
  std::shared_ptr<void> memory;
};

template <typename Managed>
void destroy(Managed* managed) {
  delete static_cast<Exported<Managed>*>(managed->context);
}

// A capsule that nobody has taken over still owns its tensor.
template <typename Managed>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}
void destroy_old(PyObject* capsule) {
  destroy_capsule<dlpack::ManagedTensor>(capsule, dlpack::kOld);
}
void destroy_versioned(PyObject* capsule) {
  destroy_capsule<dlpack::VersionedTensor>(capsule, dlpack::kVersioned);
}

template <typename Managed>
std::unique_ptr<Exported<Managed>> export_tensor(const HostTensor& self,
                                                 std::shared_ptr<void> memory) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->shape = self.shape();
  exported->strides = self.strides();
  exported->memory = std::move(memory);
  dlpack::Tensor& tensor = exported->managed.tensor;
  tensor.data = exported->memory.get();
  tensor.device = {dlpack::kCpu, 0};
  tensor.ndim = static_cast<std::int32_t>(exported->shape.size());
  tensor.dtype = self.element().dlpack;
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  exported->managed.context = exported.get();
  exported->managed.deleter = &destroy<Managed>;
  return exported;
}

template <typename Managed>
nb::object capsule_of(std::unique_ptr<Exported<Managed>> exported, const char* name,
                      PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(&exported->managed, name, destructor);
  if (capsule == nullptr) throw nb::python_error();
  (void)exported.release();  // the capsule's now
  return nb::steal(capsule);
}

using Pair = std::pair<std::int64_t, std::int64_t>;

nb::object to_dlpack(const HostTensor& self, nb::object stream, std::optional<Pair> max_version,
                     std::optional<Pair> dl_device, std::optional<bool> copy) {
  if (!stream.is_none()) {
    throw nb::buffer_error("stream: memory of the host has no stream; accepted: None");
  }
  if (dl_device && *dl_device != Pair(dlpack::kCpu, 0)) {
    throw nb::buffer_error("dl_device: the tensor is in host memory; accepted: (1, 0) or None");
  }
  std::shared_ptr<void> memory = self.memory();
  const bool copied = copy.value_or(false);
  if (copied) {
    memory = allocate(self.bytes());
    std::memcpy(memory.get(), self.data(), self.bytes());
  }
  if (!max_version || max_version->first < 1) {
    return capsule_of(export_tensor<dlpack::ManagedTensor>(self, std::move(memory)), dlpack::kOld,
                      &destroy_old);
  }
  auto exported = export_tensor<dlpack::VersionedTensor>(self, std::move(memory));
  if (copied) exported->managed.flags |= dlpack::kCopied;
  return capsule_of(std::move(exported), dlpack::kVersioned, &destroy_versioned);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return nb::inst_ptr<HostTensor>(self)->fill(self, view, flags);
}

const PyType_Slot kSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                              {0, nullptr}};

nb::object to_numpy(nb::handle_t<HostTensor> self, nb::object dtype, nb::object copy) {
  const nb::object view = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return nb::module_::import_("numpy").attr("array")(view, nb::arg("dtype") = dtype,
                                                     nb::arg("copy") = copy);
}

nb::tuple shape_of(const HostTensor& self) {
  const Shape& shape = self.shape();
  return nb::make_tuple(shape[0], shape[1], shape[2], shape[3]);
}

}  // namespace

HostTensor::HostTensor(TensorType type, const Shape& shape)
    : element_(&element_of(type)), shape_(shape), bytes_(bytes_of(*element_, shape)) {
  memory_ = allocate(bytes_);
  std::int64_t stride = 1;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    strides_[i] = stride;
    buffer_shape_[i] = static_cast<Py_ssize_t>(shape_[i]);
    buffer_strides_[i] = static_cast<Py_ssize_t>(stride * element_->bytes);
    stride *= shape_[i];
  }
}

int HostTensor::fill(PyObject* self, Py_buffer* view, int flags) const {
  const auto asks = [flags](int what) { return (flags & what) == what; };
  view->obj = nullptr;
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
  nb::class_<HostTensor>(
      module, "Tensor", nb::type_slots(kSlots),
      "A batch in host memory: C-contiguous, writable, its shape (N, channels, height, width) or\n"
      "(N, height, width, channels).\n\n"
      "torch.from_dlpack(tensor), numpy.asarray(tensor) and memoryview(tensor) share its memory,\n"
      "and keep it alive: it outlives the Batch and the TensorDecoder. bfloat16, which NumPy and\n"
      "the buffer protocol lack, goes by DLPack alone.")
      .def_prop_ro("shape", &shape_of, "(N, channels, height, width), or the layout's order.")
      .def_prop_ro(
          "dtype", [](const HostTensor& self) { return text(self.element().name); },
          "str: \"uint8\", \"float16\", \"bfloat16\" or \"float32\".")
      .def_prop_ro("nbytes", &HostTensor::bytes, "int: bytes of all elements.")
      .def(
          "numpy",
          [](nb::handle_t<HostTensor> self) {
            return to_numpy(self, nb::none(), nb::bool_(false));
          },
          "A NumPy array of the same memory. Raises BufferError for bfloat16.")
      .def("__array__", &to_numpy, nb::arg("dtype").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__",
           [](const HostTensor&) { return nb::make_tuple(std::int32_t{dlpack::kCpu}, 0); })
      .def("__len__", [](const HostTensor& self) { return self.shape()[0]; })
      .def("__repr__", [](const HostTensor& self) {
        return text("<framewire.Tensor " + std::string(self.element().name) + ' ' +
                    shape_text(self.shape().data(), 4) + '>');
      });
}

}  // namespace framewire::python
