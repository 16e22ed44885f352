#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>
#include <base/errno_code.hpp>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <cerrno>
#include <cstring>
#include <transport/wire/secret_file.hpp>
#include <utility>

namespace framewire::transport::wire {
namespace {

// @return why a file is no place for a secret, if it is not
Result<void> judge(const struct stat& facts, std::string_view what, std::size_t max_bytes) {
  if (!S_ISREG(facts.st_mode)) {
    return fail(StatusCode::kInvalidInput, fmt::format("{} is no regular file", what));
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return fail(StatusCode::kDenied,
                fmt::format("{} belongs to user {}, who can change it; it must be this user's ({}) "
                            "or root's: chown",
                            what, facts.st_uid, ::geteuid()));
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(StatusCode::kDenied,
                fmt::format("{} has mode {:04o}: group or others have access to it; chmod 600",
                            what, facts.st_mode & 07777U));
  }
  if (facts.st_size < 0 || static_cast<std::uint64_t>(facts.st_size) > max_bytes) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} has {} bytes; at most {}", what, facts.st_size, max_bytes));
  }
  return {};
}

}  // namespace

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    bytes_ = std::move(other.bytes_);
    other.bytes_.clear();
  }
  return *this;
}

void Secret::shrink(std::size_t bytes) noexcept {
  if (bytes >= bytes_.size()) return;
  OPENSSL_cleanse(bytes_.data() + bytes, bytes_.size() - bytes);
  bytes_.resize(bytes);
}

void Secret::wipe() noexcept {
  if (!bytes_.empty()) OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<Secret> read_secret(const std::string& path, std::string_view what, std::size_t max_bytes) {
  const auto unreadable = [&](int error) {
    return fail(Status(base::code_of_errno(error),
                       fmt::format("{} cannot be read: {}", what, std::strerror(error)))
                    .about(path));
  };
  // O_NONBLOCK: the name may be a pipe's, which open() would wait for.
  const base::FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return unreadable(errno);
  if (auto good = judge(facts, what, max_bytes); !good) {
    return fail(Status(good.error()).about(path));
  }
  // As long as it was when it was looked at: what its owner adds now is read the next time.
  Secret secret(static_cast<std::size_t>(facts.st_size));
  const auto read = base::read_full(file.get(), {secret.data(), secret.size()});
  if (!read) return unreadable(read.error());
  secret.shrink(*read);
  return secret;
}

}  // namespace framewire::transport::wire
