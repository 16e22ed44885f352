// Bytes of a Python object, read where they lie.
#pragma once

#include <nanobind/nanobind.h>
#include <cstdint>
#include <optional>
#include <span>

namespace framewire::python {

/// Borrows the bytes of any object with the buffer protocol. Keeps the object alive, and from
/// changing its size, as long as this lives. Neither copies nor moves: exporters may point into the
/// view. Made and destroyed by a thread that holds the GIL.
class InputBuffer {
 public:
  /// Throws TypeError for an object without the protocol, and InvalidInput for bytes that are not
  /// contiguous in memory.
  /// @param index  of the input among several, which the exception says
  explicit InputBuffer(nanobind::handle object, std::optional<std::uint64_t> index = std::nullopt);
  ~InputBuffer() { release(); }
  InputBuffer(const InputBuffer&) = delete;
  InputBuffer& operator=(const InputBuffer&) = delete;

  /// Host, read only.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept {
    return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

  /// What lends the bytes: the object, or another in its name.
  [[nodiscard]] PyObject* lender() const noexcept { return view_.obj; }

 private:
  void release() noexcept;

  Py_buffer view_{};
};

}  // namespace framewire::python
