#include <fcntl.h>
#include <base/errno_code.hpp>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <store/environment.hpp>

namespace framewire::store {

std::optional<std::string> process_environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<std::optional<std::string>> read_small_file(const std::string& path, std::size_t max_bytes) {
  const auto refuse = [&](StatusCode code, std::string why) {
    return fail(Status(code, std::move(why)).about(path));
  };
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    return refuse(base::code_of_errno(error), std::strerror(error));
  }
  auto text = base::read_text(file.get(), max_bytes + 1);
  if (!text) return refuse(base::code_of_errno(text.error()), std::strerror(text.error()));
  if (text->size() > max_bytes) {
    return refuse(StatusCode::kTooLarge, "has more than " + std::to_string(max_bytes) + " bytes");
  }
  return *std::move(text);
}

Result<std::optional<S3Credentials>> environment_credentials(const EnvironmentLookup& environment) {
  const auto id = environment("AWS_ACCESS_KEY_ID");
  const auto secret = environment("AWS_SECRET_ACCESS_KEY");
  if (!id && !secret) return std::nullopt;
  if (!id || !secret) {
    return fail(StatusCode::kDenied,
                std::string(id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY") +
                    " is set without " + (id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
  }
  return S3Credentials{*id, *secret, environment("AWS_SESSION_TOKEN").value_or(""), std::nullopt};
}

}  // namespace framewire::store
