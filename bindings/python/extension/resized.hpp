// The answer to a resize, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>
#include <cstdint>
#include <framewire/resizer.hpp>
#include <optional>
#include <vector>

namespace framewire::python {

/// A finished stream and its report. The stream stays in the vector that the codec wrote: the
/// buffer protocol shows it without a copy, `jpeg` copies it once.
class Answer {
 public:
  Answer(Resized&& resized, std::optional<std::uint64_t> index)
      : bytes_(std::move(resized.bytes)), native_(std::move(resized.report)), index_(index) {}
  /// As unpickled.
  Answer(std::vector<std::uint8_t> bytes, nanobind::object report,
         std::optional<std::uint64_t> index)
      : bytes_(std::move(bytes)), report_(std::move(report)), index_(index) {}

  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::optional<std::uint64_t> index() const noexcept { return index_; }
  /// framewire.Report; made at the first call.
  [[nodiscard]] nanobind::object report();
  /// bytes; made at the first call.
  [[nodiscard]] nanobind::object jpeg();

 private:
  const std::vector<std::uint8_t> bytes_;
  const std::optional<Report> native_;
  // Of what is made at the first call, in builds without a GIL. No Python code runs under it.
  nanobind::ft_mutex mutex_;
  nanobind::object report_;
  nanobind::object jpeg_;
  const std::optional<std::uint64_t> index_;
};

/// Adds Resized to the module.
void bind_resized(nanobind::module_& module);

}  // namespace framewire::python
