// Which settings make sense together.
#include <fmt/format.h>
#include <algorithm>
#include <service/http/bad_value.hpp>
#include <service/http/endpoint.hpp>
#include <service/http/settings.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

// Port 0 is another port each time.
bool same_place(Text left, Text right) {
  const auto a = parse_endpoint(left);
  const auto b = parse_endpoint(right);
  if (!a || !b || a->unix_path != b->unix_path) return false;
  return !a->unix_path.empty() || (a->address == b->address && a->port == b->port && a->port != 0);
}

// The second listener of an address would not start.
Result<void> validate_places(const std::vector<std::string>& places, const char* name) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool again = std::any_of(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](Text other) { return same_place(places[i], other); });
    if (again) {
      return bad_value(name, fmt::format("found {} twice; accepted: each address once",
                                         places[i].substr(0, 100)));
    }
  }
  return {};
}

// Who gives a certificate, or an address that needs one, counts on what he sends being secret.
Result<void> validate_tls(const ServiceSettings& settings) {
  const auto speaks_tls = [](const std::string& text) {
    const auto endpoint = parse_endpoint(text);
    return endpoint && endpoint->tls;
  };
  const bool wanted = std::ranges::any_of(settings.listen, speaks_tls) ||
                      std::ranges::any_of(settings.metrics, speaks_tls);
  const bool cert = !settings.tls_cert.empty();
  const bool key = !settings.tls_key.empty();
  if (wanted && !(cert && key)) {
    return bad_value(cert ? "tls-key" : "tls-cert",
                     "not given, and an address that is listened on begins with tls:");
  }
  if (!wanted && (cert || key)) {
    return bad_value(cert ? "tls-cert" : "tls-key",
                     "given, but no address of listen begins with tls:, and so nobody speaks TLS");
  }
  for (const std::string& one : settings.listen) {
    if (!speaks_tls(one)) continue;
    const bool shared = std::ranges::any_of(settings.listen, [&](const std::string& other) {
      return !speaks_tls(other) && same_place(one, other);
    });
    if (shared) {
      return bad_value("listen", fmt::format("found {} with and without TLS; accepted: one of them",
                                             one.substr(0, 100)));
    }
  }
  return {};
}

// What says something about a thing that is not asked for is a mistake in either.
Result<void> validate_clients(const ServiceSettings& settings) {
  const LocalClientSettings& local = settings.local;
  if (local.path.empty()) {
    if (local.mode != LocalClientSettings{}.mode) return bad_value("local-mode", "needs local");
    if (!local.uids.empty()) return bad_value("local-uids", "needs local");
  }
  const RemoteClientSettings& remote = settings.remote_clients;
  if (!remote.address.empty()) {
    if (!remote.psk_file.empty()) return {};
    return bad_value("remote-clients", "clients prove who they are; accepted: with remote-psk");
  }
  const RemoteClientSettings none;
  for (const auto& [name, given] : {std::pair("remote-psk", !remote.psk_file.empty()),
                                    std::pair("remote-allow", !remote.allowed.empty()),
                                    std::pair("remote-link", remote.link != none.link),
                                    std::pair("remote-interface", !remote.interface.empty())}) {
    if (given) return bad_value(name, "needs remote-clients");
  }
  return {};
}

Result<void> validate_objects(const source::ObjectSettings& objects) {
  if (objects.on) return {};
  const source::ObjectSettings none;
  const store::StoreSettings& store = objects.store;
  for (const auto& [name, given] :
       {std::pair("s3-allowed-buckets", !objects.allowed_buckets.empty()),
        std::pair("s3-denied-buckets", !objects.denied_buckets.empty()),
        std::pair("s3-version-separator", objects.version_separator != none.version_separator),
        std::pair("s3-endpoint", !store.endpoint.empty()),
        std::pair("s3-region", !store.region.empty()),
        std::pair("s3-profile", !store.profile.empty()),
        std::pair("s3-path-style", store.path_style.has_value())}) {
    if (given) return bad_value(name, "needs s3");
  }
  return {};
}

Result<void> validate_gpu(const ServiceSettings& settings) {
  const MpsSettings& mps = settings.mps;
  const CodecKind codec = settings.defaults.codec;
  const bool on_cpu = codec == CodecKind::kTurbo || codec == CodecKind::kReference;
  for (const auto& [name, given] : {std::pair("device", !settings.devices.empty()),
                                    std::pair("gpu-memory", settings.gpu_memory_bytes != 0),
                                    std::pair("warm", settings.warm_bytes.value_or(0) != 0),
                                    std::pair("mps", mps.mode != MpsMode::kOff)}) {
    if (!given || !on_cpu) continue;
    return bad_value(name, fmt::format("codec {} uses no GPU; accepted with auto, cuda and nvjpeg",
                                       to_string(codec)));
  }
  if (mps.mode == MpsMode::kOff) {
    for (const auto& [name, given] : {std::pair("mps-program", !mps.program.empty()),
                                      std::pair("mps-threads", mps.threads_percent != 0),
                                      std::pair("mps-memory", mps.memory_bytes != 0)}) {
      if (given) return bad_value(name, "needs mps on or attach");
    }
  }
  if (mps.memory_bytes != 0 && settings.devices.empty()) {
    return bad_value("mps-memory", "needs device with ordinals: the bound is one for each GPU");
  }
  return {};
}

}  // namespace

Result<void> validate(const ServiceSettings& settings) {
  if (settings.max_target_bytes > settings.max_header_bytes) {
    return bad_value("max-target-bytes",
                     fmt::format("found {}; accepted: at most max-header-bytes, {}",
                                 settings.max_target_bytes, settings.max_header_bytes));
  }
  if (settings.bytes_under_way < settings.defaults.limits.max_input_bytes) {
    return bad_value(
        "bytes-under-way",
        fmt::format("found {}; accepted: at least max-input-bytes, {}", settings.bytes_under_way,
                    settings.defaults.limits.max_input_bytes));
  }
  for (const std::string& one : settings.metrics) {
    // The system would give either listener some of the connections.
    const bool shared =
        std::any_of(settings.listen.begin(), settings.listen.end(),
                    [&](const std::string& other) { return same_place(one, other); });
    if (shared) {
      return bad_value("metrics",
                       fmt::format("found {}, where requests are listened for; accepted: "
                                   "another address, or main",
                                   one));
    }
  }
  if (auto valid = validate_tls(settings); !valid) return valid;
  if (auto valid = validate_places(settings.listen, "listen"); !valid) return valid;
  if (auto valid = validate_places(settings.metrics, "metrics"); !valid) return valid;
  if (auto valid = validate_clients(settings); !valid) return valid;
  if (auto valid = validate_objects(settings.source.objects); !valid) return valid;
  if (auto valid = validate_gpu(settings); !valid) return valid;
  return framewire::validate(settings.defaults);
}

}  // namespace framewire::service::http
