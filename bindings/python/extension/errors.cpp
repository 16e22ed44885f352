#include <nanobind/stl/string.h>
#include <extension/errors.hpp>
#include <extension/without_gil.hpp>

namespace framewire::python {
namespace nb = nanobind;

namespace {

constexpr Py_ssize_t kMaxShown = 200;  // characters of a value in a message

nb::object errors() { return nb::module_::import_("framewire._errors"); }

}  // namespace

nb::str text(std::string_view utf8) {
  PyObject* made =
      PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

std::string type_of(nb::handle object) {
  const nb::str words = nb::repr(object.type());
  const auto utf8 =
      nb::steal<nb::bytes>(PyUnicode_AsEncodedString(words.ptr(), "utf-8", "backslashreplace"));
  if (!utf8.is_valid()) throw nb::python_error();
  return utf8.c_str();
}

std::string shown(nb::handle object) {
  try {
    nb::object words = nb::steal(call_python([=] { return PyObject_Repr(object.ptr()); }));
    if (!words.is_valid()) throw nb::python_error();
    if (PyUnicode_GetLength(words.ptr()) > kMaxShown) {
      words = nb::steal(PyUnicode_Substring(words.ptr(), 0, kMaxShown - 1));
      if (!words.is_valid()) throw nb::python_error();
      words = words + nb::str("…");
    }
    return nb::cast<std::string>(words);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
  } catch (const nb::cast_error&) {
    // Half of a surrogate pair has no UTF-8.
  }
  return type_of(object);
}

nb::object exception_of(const Status& status) {
  const nb::object offset = status.offset() ? nb::int_(*status.offset()) : nb::object(nb::none());
  return call_object(errors().attr("from_status"), text(to_string(status.code())),
                     text(status.message()), offset, text(status.subject()));
}

nb::object error_class(const char* name) { return errors().attr(name); }

void raise_object(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void raise(const Status& status) { raise_object(exception_of(status)); }

void raise_at(const Status& status, std::size_t index) {
  const nb::object exception = exception_of(status);
  exception.attr("index") = index;
  raise_object(exception);
}

std::string said_of_input(std::optional<std::uint64_t> index) {
  return index ? "input " + std::to_string(*index) + ": " : std::string();
}

bool is_made(PyObject* object) noexcept {
  if (nanobind::inst_ready(object)) return true;
  PyErr_Format(PyExc_TypeError, "found %R made by __new__() alone; accepted: a complete object",
               reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return false;
}

void raise_closed(std::string_view message) {
  raise_object(call_object(errors().attr("EngineClosed"), text(message)));
}

}  // namespace framewire::python
