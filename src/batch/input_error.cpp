#include <fmt/format.h>
#include <batch/input_error.hpp>
#include <utility>

namespace framewire::batch {

Status over_limit(const std::string& label, std::uint64_t bytes, std::uint64_t limit) {
  return Status(StatusCode::kTooLarge,
                fmt::format("found at least {} bytes; accepted: max-input-bytes, {}", bytes, limit))
      .about(label);
}

Status about_file(Status status, const std::string& path) {
  if (status.subject().empty()) return std::move(status).about(path);
  Status named = Status(status.code(), status.subject() + ": " + status.message()).about(path);
  return status.offset() ? std::move(named).at(*status.offset()) : named;
}

Status about_label(Status status, const std::string& label) {
  return status.subject() == label ? status : about_file(std::move(status), label);
}

}  // namespace framewire::batch
