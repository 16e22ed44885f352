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
  const bool good = requirement == Requirement::kNothing ||
                    (requirement == Requirement::kP2p && path.direct >= Reach::kP2p) ||
                    (requirement == Requirement::kNvlink && path.direct >= Reach::kNvlink);
  if (good) return {};
  std::string why = path.why_staged;
  if (why.empty()) why = "device memory is staged through the host";
  return fail(StatusCode::kUnsupported,
              fmt::format("{} is required, but the path is {} ({}: {}); framewire doctor says what "
                          "this machine can do",
                          word_of(requirement), path.name, to_string(path.direct), why));
}

}  // namespace framewire::transport
