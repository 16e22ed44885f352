#include <extension/buffer.hpp>
#include <extension/errors.hpp>
#include <extension/without_gil.hpp>

namespace framewire::python {

InputBuffer::InputBuffer(nanobind::handle object, std::optional<std::uint64_t> index) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    PyErr_Format(PyExc_TypeError,
                 "%sjpeg: found %R; accepted: an object with the buffer protocol, such as bytes, "
                 "bytearray, memoryview, mmap or a NumPy array of uint8",
                 said_of_input(index).c_str(), reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
    throw nanobind::python_error();
  }
  const auto borrow = [&](int flags) {
    return call_python([=, this] { return PyObject_GetBuffer(object.ptr(), &view_, flags); }) == 0;
  };
  if (borrow(PyBUF_SIMPLE)) return;
  // Exporters disagree on what they raise here (BufferError, ValueError), so the cause is replaced.
  // A memoryview that was released raises ValueError too, and is told apart by asking again.
  PyErr_Clear();
  if (!borrow(PyBUF_FULL_RO)) throw nanobind::python_error();
  release();
  const Status gaps =
      Status(StatusCode::kInvalidInput,
             "found bytes that are not contiguous in memory; accepted: a contiguous buffer, such "
             "as bytes(view) or numpy.ascontiguousarray(array)")
          .about("jpeg");
  if (index) raise_at(gaps, *index);
  raise(gaps);
}

void InputBuffer::release() noexcept {
  call_python([this] { PyBuffer_Release(&view_); });
}

}  // namespace framewire::python
