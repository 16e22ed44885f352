// Reports and errors as bytes.
#pragma once

#include <cstddef>
#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <span>

namespace framewire::ipc {

/// Writes a report. Texts are cut at 1 KiB each, and warnings for which there is no room left out.
/// @param out  kReportBytes @return how many bytes were written
[[nodiscard]] std::size_t write_report(const Report& report, std::span<std::byte> out) noexcept;
/// Writes an error, likewise.
[[nodiscard]] std::size_t write_error(const Status& status, std::span<std::byte> out) noexcept;

/// @param bytes  of another process', but ours: they do not change any more
/// @return nothing where they are no report, or not exactly one. Throws std::bad_alloc
[[nodiscard]] std::optional<Report> read_report(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<Status> read_error(std::span<const std::byte> bytes);

}  // namespace framewire::ipc
