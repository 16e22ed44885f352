#include <algorithm>
#include <base/errno_code.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <jpeg/parser.hpp>
#include <service/http/blocking_file.hpp>
#include <service/http/fallback_image.hpp>
#include <string>
#include <system_error>
#include <utility>

namespace framewire::service::http {

Result<FallbackImage> FallbackImage::open(const ServiceSettings& settings, PictureEngine& engine) {
  const std::string& path = settings.fallback_image;
  const Limits& limits = settings.defaults.limits;
  const auto refuse = [&](StatusCode code, std::string message) {
    return fail(Status(code, std::move(message)).about(path));
  };
  if (is_device_or_pipe(path)) {
    return refuse(StatusCode::kInvalidInput,
                  "fallback-image: found a device or pipe; accepted: a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    const std::string reason = std::generic_category().message(error);
    return refuse(base::code_of_errno(error), "fallback-image: cannot open: " + reason);
  }
  std::string bytes;
  char part[65536];
  while (file.read(part, sizeof part) || file.gcount() > 0) {
    bytes.append(part, static_cast<std::size_t>(file.gcount()));
    if (bytes.size() > limits.max_input_bytes) {
      return refuse(StatusCode::kTooLarge, "fallback-image: accepted: at most max-input-bytes");
    }
  }
  if (file.bad()) return refuse(StatusCode::kIoError, "fallback-image: the file cannot be read");
  const std::span<const std::uint8_t> view(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                           bytes.size());
  if (const auto parsed = jpeg::parse(view, limits, jpeg::ParseDepth::kThroughFirst); !parsed) {
    return refuse(parsed.error().code(), "fallback-image: " + parsed.error().message());
  }
  FallbackImage image;
  if (engine.workers()) {
    // Memory that is shared with a worker could be changed by it, and would stay when it has ended.
    auto own = std::make_shared<const std::string>(std::move(bytes));
    image.bytes_ = {reinterpret_cast<const std::uint8_t*>(own->data()), own->size()};
    image.keeper_ = std::move(own);
    return image;
  }
  // Where the engine's devices can copy from it.
  auto slice = engine.input_slice(bytes.size());
  if (!slice) return fail(slice.error());
  std::copy(view.begin(), view.end(), slice->bytes.begin());
  image.bytes_ = slice->bytes;
  image.keeper_ = std::move(slice->keeper);
  return image;
}

bool may_fall_back(source::FetchErrorKind kind) noexcept {
  using Kind = source::FetchErrorKind;
  switch (kind) {
    case Kind::kSchemeNotAllowed:
    case Kind::kSourceNotAllowed:
    case Kind::kBadUrl:
    case Kind::kCancelled:
    case Kind::kBusy:
      return false;
    default:
      return true;
  }
}

bool may_fall_back(StatusCode code) noexcept {
  return code == StatusCode::kInvalidInput || code == StatusCode::kUnsupported ||
         code == StatusCode::kTooLarge;
}

}  // namespace framewire::service::http
