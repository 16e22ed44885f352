// Paths, in words and against what is required of them.
#include <fmt/format.h>
#include <framewire/transport/transfer.hpp>

namespace framewire::transport {
namespace {

std::string_view word_of(Requirement requirement) noexcept {
  switch (requirement) {
    case Requirement::kNothing:
      break;
    case Requirement::kP2p:
      return "p2p";
    case Requirement::kNvlink:
      return "nvlink";
    case Requirement::kGpudirect:
      return "gpudirect";
  }
  return "";
}

bool meets(const PathReport& path, Requirement requirement) noexcept {
  switch (requirement) {
    case Requirement::kNothing:
      return true;
    case Requirement::kP2p:
      return path.direct >= Reach::kP2p;
    case Requirement::kNvlink:
      return path.direct >= Reach::kNvlink;
    case Requirement::kGpudirect:
      return path.gpudirect && path.peer_gpudirect;
  }
  return false;
}

std::string_view word_of(const PathReport& path) noexcept {
  return path.gpudirect ? "gpudirect" : to_string(path.direct);
}

}  // namespace

std::string_view to_string(Reach reach) noexcept {
  switch (reach) {
    case Reach::kNone:
      break;
    case Reach::kP2p:
      return "p2p";
    case Reach::kNvlink:
      return "nvlink";
    case Reach::kSame:
      return "same device";
  }
  return "none";
}

Result<Requirement> parse_requirement(std::string_view word) {
  for (const auto requirement :
       {Requirement::kNothing, Requirement::kP2p, Requirement::kNvlink, Requirement::kGpudirect}) {
    if (word == word_of(requirement)) return requirement;
  }
  return fail(StatusCode::kInvalidInput,
              fmt::format("a path of '{}' cannot be required; gpudirect, nvlink or p2p can", word));
}

Result<void> check_path(const PathReport& path, Requirement requirement) {
  if (meets(path, requirement)) return {};
  std::string why = path.why_staged;
  std::string_view where = "this machine";
  if (requirement == Requirement::kGpudirect && path.gpudirect) {
    why = "only at this end; the peer stages its device memory through its host";
    where = "the peer's machine";
  }
  if (why.empty()) why = "device memory is staged through the host";
  return fail(StatusCode::kUnsupported,
              fmt::format("{} is required, but the path is {} ({}: {}); framewire doctor says what "
                          "{} can do",
                          word_of(requirement), path.name, word_of(path), why, where));
}

}  // namespace framewire::transport
