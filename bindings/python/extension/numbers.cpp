#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <limits>
#include <string>

namespace framewire::python {
namespace nb = nanobind;

namespace {

// The number as an int; invalid for what is none.
nb::object index_of(nb::handle number) {
  if (PyBool_Check(number.ptr())) return {};
  PyObject* index = PyNumber_Index(number.ptr());
  if (index == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  return nb::steal(index);
}

}  // namespace

std::optional<std::int64_t> to_int64(nb::handle number) {
  const nb::object index = index_of(number);
  if (!index.is_valid()) return std::nullopt;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) return std::nullopt;
  return value;
}

std::optional<std::int32_t> to_int32(nb::handle number) {
  const std::optional<std::int64_t> value = to_int64(number);
  using Limits32 = std::numeric_limits<std::int32_t>;
  if (!value || *value < Limits32::min() || *value > Limits32::max()) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

std::optional<std::uint64_t> to_uint64(nb::handle number) {
  const nb::object index = index_of(number);
  if (!index.is_valid()) return std::nullopt;
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();  // negative, or too large
  return std::nullopt;
}

nb::list to_list(nb::handle items, const char* argument, const char* accepted,
                 std::optional<std::uint64_t> index) {
  PyObject* object = items.ptr();
  const bool is_text = PyUnicode_Check(object) || PyBytes_Check(object) ||
                       PyByteArray_Check(object) || PyMemoryView_Check(object);
  const bool refused = is_text || PyAnySet_Check(object) || PyDict_Check(object);
  PyObject* list = refused ? nullptr : PySequence_List(object);
  if (list != nullptr) return nb::steal<nb::list>(list);
  if (!refused && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s%s: found %R; accepted: %s", said_of_input(index).c_str(),
               argument, reinterpret_cast<PyObject*>(Py_TYPE(object)), accepted);
  throw nb::python_error();
}

void check_count(const nb::list& items, std::size_t count, const char* argument) {
  if (nb::len(items) == count) return;
  raise(Status(StatusCode::kInvalidInput, "found " + std::to_string(nb::len(items)) +
                                              "; accepted: one for each of " +
                                              std::to_string(count) + " images")
            .about(argument));
}

nb::tuple to_tuple(const CropBox& box) {
  return nb::make_tuple(box.left_px, box.top_px, box.width_px, box.height_px);
}

}  // namespace framewire::python
