#include <extension/errors.hpp>
#include <extension/numbers.hpp>
#include <extension/without_gil.hpp>
#include <limits>
#include <string>

namespace framewire::python {
namespace nb = nanobind;

namespace {

// The number as an int; invalid for what is none.
nb::object index_of(nb::handle number) {
  if (PyBool_Check(number.ptr())) return {};
  PyObject* index = call_python([=] { return PyNumber_Index(number.ptr()); });
  if (index == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  return nb::steal(index);
}

// A list or tuple, whose items are read without Python code.
bool is_plain(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }

// What an iterator yields, at most `most`. Ctrl-C ends one that never ends, as itertools.count().
nb::list read_list(const nb::object& iterator, std::size_t most) {
  PyObject* const source = iterator.ptr();
  nb::list items;
  for (std::size_t count = 0; count < most; ++count) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::object item = nb::steal(call_python([=] { return PyIter_Next(source); }));
    if (!item.is_valid()) break;
    items.append(item);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return items;
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
                 std::optional<std::uint64_t> index, std::size_t most) {
  PyObject* object = items.ptr();
  const bool is_text = PyUnicode_Check(object) || PyBytes_Check(object) ||
                       PyByteArray_Check(object) || PyMemoryView_Check(object);
  const bool refused = is_text || PyAnySet_Check(object) || PyDict_Check(object);
  if (is_plain(object)) {
    nb::list list = nb::steal<nb::list>(PySequence_List(object));
    if (!list.is_valid()) throw nb::python_error();
    return list;
  }
  const nb::object iterator =
      nb::steal(refused ? nullptr : call_python([=] { return PyObject_GetIter(object); }));
  if (iterator.is_valid()) return read_list(iterator, most);
  if (!refused && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s%s: found %R; accepted: %s", said_of_input(index).c_str(),
               argument, reinterpret_cast<PyObject*>(Py_TYPE(object)), accepted);
  throw nb::python_error();
}

nb::list to_list_of(std::size_t count, nb::handle items, const char* argument,
                    const char* accepted) {
  // One more tells that there are too many: an iterator may have no end.
  nb::list list = to_list(items, argument, accepted, std::nullopt, count + 1);
  const std::size_t found = nb::len(list);
  if (found == count) return list;
  const bool is_cut = found > count && !is_plain(items.ptr());
  raise(Status(StatusCode::kInvalidInput,
               "found " + (is_cut ? "more than " + std::to_string(count) : std::to_string(found)) +
                   "; accepted: one for each of " + std::to_string(count) + " images")
            .about(argument));
}

nb::tuple to_tuple(const CropBox& box) {
  return nb::make_tuple(box.left_px, box.top_px, box.width_px, box.height_px);
}

}  // namespace framewire::python
