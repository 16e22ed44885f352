#include <fmt/format.h>
#include <batch/input_error.hpp>
#include <string>
#include <utility>

namespace framewire::batch {

Status over_limit(std::string_view label, std::uint64_t bytes, std::uint64_t limit) {
  return Status(StatusCode::kTooLarge,
                fmt::format("found at least {} bytes; accepted: max-input-bytes, {}", bytes, limit))
      .about(std::string(label));
}

Status about_file(Status status, std::string_view path) {
  if (status.subject().empty()) return std::move(status).about(std::string(path));
  Status named =
      Status(status.code(), status.subject() + ": " + status.message()).about(std::string(path));
  return status.offset() ? std::move(named).at(*status.offset()) : named;
}

Status about_label(Status status, std::string_view label) {
  return status.subject() == label ? status : about_file(std::move(status), label);
}

}  // namespace framewire::batch
