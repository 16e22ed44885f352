#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <algorithm>
#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <extension/output_tensor.hpp>
#include <extension/without_gil.hpp>
#include <string>
#include <vector>

namespace framewire::python {
namespace nb = nanobind;

namespace {

Status refusal(const std::string& found, const OutputTerms& terms) {
  const std::string place =
      terms.device < 0 ? "host memory" : "memory of device " + std::to_string(terms.device);
  return Status(StatusCode::kInvalidInput,
                "found " + found + "; accepted: writable " + place + ", C-contiguous, of " +
                    std::string(terms.element.name) + ' ' + shape_text(terms.shape.data(), 4))
      .about("out");
}

[[noreturn]] void refuse(const std::string& found, const OutputTerms& terms) {
  raise(refusal(found, terms));
}

// An object that does not lend its memory: a torch.Tensor that requires a gradient, say, or has
// none. What it raised is the cause.
[[noreturn]] void refuse_for(nb::python_error& cause, nb::handle object, const OutputTerms& terms) {
  if (!cause.matches(PyExc_Exception)) throw;  // KeyboardInterrupt
  const nb::object error =
      exception_of(refusal(type_of(object) + ", which does not lend its memory", terms));
  PyException_SetCause(error.ptr(), nb::borrow(cause.value()).release().ptr());
  raise_object(error);
}

// Calls what an object says of its memory.
template <typename Call>
auto ask(nb::handle object, const OutputTerms& terms, const Call& call) try {
  return call();
} catch (nb::python_error& raised) {
  refuse_for(raised, object, terms);
}

// NumPy's arrays of bfloat16, a type of the package ml_dtypes, lend their memory as other elements
// of two bytes alone. Invalid for other objects.
nb::object words_of_bfloat16(nb::handle object) {
  if (!nb::hasattr(object, "__array_interface__") || !nb::hasattr(object, "view")) return {};
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  if (!nb::getattr(dtype, "name", nb::none()).equal(nb::str("bfloat16"))) return {};
  return call_object(nb::object(object.attr("view")), nb::str("uint16"));
}

// Whether it is an array of JAX, which never changes. Its capsules are old ones, which cannot say
// so.
bool is_of_jax(nb::handle object) {
  const nb::object module = nb::getattr(object.type(), "__module__", nb::none());
  if (!nb::isinstance<nb::str>(module)) return false;
  const char* const utf8 = nb::cast<nb::str>(module).c_str();
  if (utf8 == nullptr) {  // half of a surrogate pair, which has no UTF-8
    PyErr_Clear();
    return false;
  }
  const std::string name = std::string(utf8) + '.';
  return name.starts_with("jaxlib.") || name.starts_with("jax.");
}

// "float64" for "d" and its kin; what has no short name is shown as it is.
std::string name_of_format(std::string_view format, Py_ssize_t bytes) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) {
    format.remove_prefix(1);
  }
  const std::string bits = std::to_string(bytes * 8);
  if (format.size() == 1) {
    if (std::string_view("efdg").find(format[0]) != std::string_view::npos) return "float" + bits;
    if (std::string_view("bhilqn").find(format[0]) != std::string_view::npos) return "int" + bits;
    if (std::string_view("BHILQN").find(format[0]) != std::string_view::npos) return "uint" + bits;
    if (format[0] == '?') return "bool";
  }
  return "elements of format '" + std::string(format) + '\'';
}

std::string name_of_type(const dlpack::ElementType& type) {
  static constexpr const char* kCodes[] = {"int", "uint", "float", "handle", "bfloat", "complex"};
  if (type.lanes != 1 || type.code >= std::size(kCodes)) {
    return "elements of DLPack's type code " + std::to_string(type.code);
  }
  return kCodes[type.code] + std::to_string(type.bits);
}

// Strides of sides of one element, or of no elements at all, do not matter.
template <typename Integer>
bool is_contiguous(const Integer* shape, const Integer* strides, int count, Integer step) {
  if (strides == nullptr) return true;
  if (std::find(shape, shape + count, 0) != shape + count) return true;
  for (int i = count; i-- > 0;) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

}  // namespace

OutputTensor::OutputTensor(nb::handle object, const OutputTerms& terms)
    : object_(nb::borrow(object)) {
  try {
    take(object, terms);
  } catch (const nb::cast_error&) {
    release();
    refuse("an object whose protocol gives values of wrong types", terms);
  } catch (...) {
    release();
    throw;
  }
}

void OutputTensor::take(nb::handle object, const OutputTerms& terms) {
  if (terms.device < 0 && terms.element.type == TensorType::kBfloat16) {
    const nb::object words = ask(object, terms, [&] { return words_of_bfloat16(object); });
    if (words.is_valid() && take_buffer(words, terms)) {
      check_buffer(terms, "bfloat16");
      return;
    }
  }
  if (terms.device < 0 && terms.element.format != nullptr && take_buffer(object, terms)) {
    check_buffer(terms);
    return;
  }
  if (take_dlpack(object, terms)) return;
  if (terms.device >= 0 && take_cuda_array(object, terms)) return;
  if (PyObject_CheckBuffer(object.ptr()) != 0) {
    if (terms.device >= 0) refuse("memory of the host", terms);
    (void)take_buffer(object, terms);
    check_buffer(terms);  // of bfloat16, which it cannot have: says so
    return;
  }
  PyErr_Format(PyExc_TypeError, "out: found %R; accepted: an object with DLPack or %s",
               reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())),
               terms.device < 0
                   ? "the buffer protocol, such as a torch.Tensor, a NumPy array or a "
                     "framewire.Tensor"
                   : "__cuda_array_interface__, such as a torch.Tensor or a CuPy array on the "
                     "decoder's device");
  throw nb::python_error();
}

OutputTensor::~OutputTensor() { release(); }

void OutputTensor::release() noexcept {
  // Each may run Python code: __release_buffer__(), or the end of what an exporter's deleter drops.
  if (has_view_) call_python([this] { PyBuffer_Release(&view_); });
  if (old_ != nullptr && old_->deleter != nullptr) call_python([this] { old_->deleter(old_); });
  if (versioned_ != nullptr && versioned_->deleter != nullptr) {
    call_python([this] { versioned_->deleter(versioned_); });
  }
}

bool OutputTensor::take_buffer(nb::handle object, const OutputTerms& terms) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  // Read-only memory is taken, to say that it is.
  has_view_ = call_python([=, this] {
                return PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FULL_RO);
              }) == 0;
  if (!has_view_ && nb::hasattr(object, "__dlpack__")) PyErr_Clear();  // that one may do
  if (!has_view_ && PyErr_Occurred() != nullptr) {
    nb::python_error raised;
    refuse_for(raised, object, terms);
  }
  return has_view_;
}

void OutputTensor::check_buffer(const OutputTerms& terms, const char* known_type) {
  const Shape& shape = terms.shape;
  const std::vector<std::int64_t> sides(view_.shape, view_.shape + view_.ndim);
  const std::string type =
      known_type != nullptr
          ? known_type
          : name_of_format(view_.format == nullptr ? "B" : view_.format, view_.itemsize);
  if (type != terms.element.name ||
      !std::equal(sides.begin(), sides.end(), shape.begin(), shape.end())) {
    refuse(type + ' ' + shape_text(sides.data(), view_.ndim), terms);
  }
  if (view_.readonly != 0) refuse("read-only memory", terms);
  if (view_.suboffsets != nullptr ||
      !is_contiguous(view_.shape, view_.strides, view_.ndim, view_.itemsize)) {
    refuse("memory that is not C-contiguous", terms);
  }
  data_ = view_.buf;
}

bool OutputTensor::take_dlpack(nb::handle object, const OutputTerms& terms) {
  if (!nb::hasattr(object, "__dlpack__") || !nb::hasattr(object, "__dlpack_device__")) return false;
  if (is_of_jax(object)) refuse("an array of JAX, which is read-only memory", terms);
  const nb::object device =
      ask(object, terms, [&] { return call_object(nb::object(object.attr("__dlpack_device__"))); });
  if (PySequence_Check(device.ptr()) == 0 || nb::len(device) != 2) {
    refuse("an object in no device of DLPack", terms);
  }
  const auto type = nb::cast<std::int64_t>(nb::object(device[0]));
  const auto ordinal = nb::cast<std::int64_t>(nb::object(device[1]));
  const bool on_host =
      type == dlpack::kCpu || type == dlpack::kCudaHost || type == dlpack::kRocmHost;
  const bool on_device =
      (type == dlpack::kCuda || type == dlpack::kCudaManaged) && ordinal == terms.device;
  if (terms.device < 0 ? !on_host : !on_device) {
    const bool of_cuda = type == dlpack::kCuda || type == dlpack::kCudaManaged;
    refuse(on_host   ? "memory of the host"
           : of_cuda ? "memory of device " + std::to_string(ordinal)
                     : "memory of a device of DLPack's type " + std::to_string(type),
           terms);
  }
  const nb::object capsule = ask(object, terms, [&] { return capsule_of(object, terms); });
  take_capsule(capsule);
  check_dlpack(terms);
  return true;
}

nb::object OutputTensor::capsule_of(nb::handle object, const OutputTerms& terms) {
  const nb::object exporter = nb::getattr(object, "__dlpack__");
  const auto call = [&exporter](const nb::dict& keywords) {
    const nb::tuple none;
    PyObject* capsule =
        call_python([&] { return PyObject_Call(exporter.ptr(), none.ptr(), keywords.ptr()); });
    if (capsule == nullptr) throw nb::python_error();
    return nb::steal(capsule);
  };
  nb::dict arguments;
  if (terms.device >= 0) {
    arguments["stream"] = reinterpret_cast<std::uintptr_t>(terms.stream.get());
  }
  try {
    nb::dict versioned;
    versioned.update(arguments);
    versioned["max_version"] = nb::make_tuple(1, 0);
    return call(versioned);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // an exporter from before DLPack 1.0
  }
  return call(arguments);
}

void OutputTensor::take_capsule(const nb::object& capsule) {
  const char* used = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kVersioned) != 0) {
    versioned_ = static_cast<dlpack::VersionedTensor*>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::kVersioned));
    used = dlpack::kVersionedUsed;
  } else if (PyCapsule_IsValid(capsule.ptr(), dlpack::kOld) != 0) {
    old_ = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kOld));
    used = dlpack::kOldUsed;
  } else {
    throw nb::type_error("out: __dlpack__() returned no capsule of DLPack");
  }
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
}

void OutputTensor::check_dlpack(const OutputTerms& terms) {
  const Shape& shape = terms.shape;
  if (versioned_ != nullptr && versioned_->major != 1) {
    refuse("DLPack of version " + std::to_string(versioned_->major), terms);
  }
  const dlpack::Tensor& tensor = versioned_ != nullptr ? versioned_->tensor : old_->tensor;
  if (tensor.dtype != terms.element.dlpack ||
      !std::equal(tensor.shape, tensor.shape + tensor.ndim, shape.begin(), shape.end())) {
    refuse(name_of_type(tensor.dtype) + ' ' + shape_text(tensor.shape, tensor.ndim), terms);
  }
  if (versioned_ != nullptr && (versioned_->flags & dlpack::kReadOnly) != 0) {
    refuse("read-only memory", terms);
  }
  if (!is_contiguous(tensor.shape, tensor.strides, tensor.ndim, std::int64_t{1})) {
    refuse("memory that is not C-contiguous", terms);
  }
  data_ = static_cast<std::uint8_t*>(tensor.data) + tensor.byte_offset;
}

// Versions 2 and 3.
bool OutputTensor::take_cuda_array(nb::handle object, const OutputTerms& terms) {
  if (!nb::hasattr(object, "__cuda_array_interface__")) return false;
  const nb::dict facts = nb::cast<nb::dict>(
      ask(object, terms, [&] { return nb::object(object.attr("__cuda_array_interface__")); }));
  const auto sides = nb::cast<std::vector<std::int64_t>>(nb::object(facts["shape"]));
  const auto count = static_cast<int>(sides.size());
  const auto type = nb::cast<std::string>(nb::object(facts["typestr"]));
  const Shape& shape = terms.shape;
  if (terms.element.typestr == nullptr || type != terms.element.typestr ||
      !std::equal(sides.begin(), sides.end(), shape.begin(), shape.end())) {
    refuse("elements of type '" + type + "' " + shape_text(sides.data(), count), terms);
  }
  if (facts.contains("stream")) pending_ = to_int64(nb::object(facts["stream"])).value_or(0);
  const nb::object data = facts["data"];
  if (nb::cast<bool>(nb::object(data[1]))) refuse("read-only memory", terms);
  if (facts.contains("mask") && !nb::object(facts["mask"]).is_none()) {
    refuse("memory with a mask", terms);
  }
  if (facts.contains("strides") && !nb::object(facts["strides"]).is_none()) {
    const auto strides = nb::cast<std::vector<std::int64_t>>(nb::object(facts["strides"]));
    if (strides.size() != sides.size() ||
        !is_contiguous(sides.data(), strides.data(), count, terms.element.bytes)) {
      refuse("memory that is not C-contiguous", terms);
    }
  }
  data_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::object(data[0])));
  return true;
}

}  // namespace framewire::python
