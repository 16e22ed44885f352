#include <sys/stat.h>
#include <unistd.h>
#include <batch/input_file.hpp>
#include <cerrno>
#include <commands/serve/check.hpp>
#include <commands/serve/remote_clients.hpp>
#include <filesystem>
#include <framewire/engine.hpp>
#include <service/http/server.hpp>
#include <service/http/snapshot.hpp>
#include <service/local/socket_file.hpp>
#include <string_view>
#include <system_error>
#include <transport/wire/tls.hpp>

namespace framewire::app {
namespace {

using service::http::ServiceSettings;

constexpr std::uint64_t kMaxCaBytes = 16u << 20;

// Whether something can be made under this name.
Result<void> check_parent(const std::string& path) {
  const auto unusable = [&path](int error) {
    return fail(Status(StatusCode::kIoError, std::generic_category().message(error)).about(path));
  };
  std::filesystem::path parent = std::filesystem::path(path).lexically_normal();
  if (!parent.has_filename()) parent = parent.parent_path();
  parent = parent.parent_path();
  if (parent.empty()) parent = ".";
  struct stat status {};
  if (::stat(parent.c_str(), &status) != 0) return unusable(errno);
  if (!S_ISDIR(status.st_mode)) return unusable(ENOTDIR);
  if (::access(parent.c_str(), W_OK | X_OK) != 0) return unusable(errno);
  return {};
}

// The start makes the folder where only it is missing. A check makes none.
Result<void> check_cache_folder(const std::string& path) {
  if (path.empty()) return {};
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode)) {
      return fail(
          Status(StatusCode::kIoError, std::generic_category().message(ENOTDIR)).about(path));
    }
    if (status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return fail(Status(StatusCode::kDenied,
                       "accepted: a folder of this user's own, to which nobody else may write")
                    .about(path));
  }
  return check_parent(path);
}

Result<void> check_local_socket(const service::http::LocalClientSettings& local) {
  if (local.path.empty()) return {};
  auto good = service::local::SocketFile::check(local.path, static_cast<mode_t>(local.mode));
  return good ? check_parent(local.path) : good;
}

Result<void> check_remote_keys(const ServiceSettings& settings) {
  const auto remote = remote_options(settings.remote_clients);
  if (!remote) return {};
  const auto context = transport::wire::TlsContext::make(remote->security, true);
  if (!context) return fail(context.error());
  return {};
}

// Grammar, sources and the fallback image, made as the start makes them.
Result<void> check_sources(const ServiceSettings& settings) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  auto engine = Engine::make(options);
  if (!engine) return fail(engine.error());
  service::OwnEngine pictures(*engine);
  service::http::Snapshots snapshots(pictures, nullptr);
  const auto made = snapshots.make(settings);
  if (!made) return fail(made.error());
  return {};
}

}  // namespace

Result<void> check_origin_ca(const ServiceSettings& settings) {
  const std::string& path = settings.source.ca_file;
  if (path.empty()) return {};
  const auto file = batch::InputFile::open(path);
  if (!file) return fail(Status(file.error()).about("origin-ca: " + path));
  const auto bytes = file->read(kMaxCaBytes);
  if (!bytes) return fail(Status(bytes.error()).about("origin-ca: " + path));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  for (const char* kind : {"-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----",
                           "-----BEGIN X509 CERTIFICATE-----"}) {
    if (text.find(kind) != std::string_view::npos) return {};
  }
  return fail(Status(StatusCode::kInvalidInput, "accepted: a file with certificates in PEM")
                  .about("origin-ca: " + path));
}

Result<std::vector<std::string>> check_settings(const ServiceSettings& settings) {
  if (auto good = check_origin_ca(settings); !good) return fail(good.error());
  auto warnings = service::http::check_files(settings);
  if (!warnings) return warnings;
  if (auto good = check_cache_folder(settings.cache_dir); !good) return fail(good.error());
  if (auto good = check_sources(settings); !good) return fail(good.error());
  if (auto good = check_remote_keys(settings); !good) return fail(good.error());
  if (auto good = check_local_socket(settings.local); !good) return fail(good.error());
  return warnings;
}

}  // namespace framewire::app
