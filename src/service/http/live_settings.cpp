#include <algorithm>
#include <iterator>
#include <service/http/live_settings.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

// Read once a request, or when something new is begun. What is not here was handed on when the
// server started: to listeners, threads, budgets and the engine.
constexpr Text kLive[] = {
    "max-connections",
    "max-header-bytes",
    "max-header-lines",
    "max-target-bytes",
    "read-timeout",
    "write-timeout",
    "keep-alive-timeout",
    "tls-cert",
    "tls-key",
    "tls-min-version",
    "http2",
    "request-timeout",
    "drain-delay",
    "drain-timeout",
    "folder",
    "remote",
    "allowed-sources",
    "s3",
    "s3-allowed-buckets",
    "s3-denied-buckets",
    "s3-version-separator",
    "s3-endpoint",
    "s3-region",
    "s3-profile",
    "s3-path-style",
    "allow-loopback",
    "allow-link-local",
    "allow-private",
    "max-redirects",
    "download-timeout",
    "user-agent",
    "origin-ca",
    "keys",
    "salts",
    "signature-size",
    "trusted-signatures",
    "presets",
    "presets-file",
    "only-presets",
    "allowed-options",
    "allow-security-options",
    "client-hints",
    "arguments-separator",
    "base-url",
    "url-replacements",
    "encoded-filenames",
    "path-prefix",
    "ttl",
    "etag-buster",
    "fallback-image",
    "fallback-status",
    "fallback-ttl",
    "cache-fresh",
    "cache-control-passthrough",
    "no-etag",
    "no-last-modified",
    "canonical-link",
    "debug-headers",
    "allow-raw",
    "no-page",
    "allow-origin",
    "uploads",
    "secret",
    "log",
};

}  // namespace

bool is_live(Text name) {
  return std::find(std::begin(kLive), std::end(kLive), name) != std::end(kLive);
}

SettingsChange merge_live(const ServiceSettings& running, const ServiceSettings& wanted) {
  SettingsChange change{.settings = running, .taken = {}, .waiting = {}};
  for (const SettingRow& row : setting_rows()) {
    const std::string value = row.print(wanted);
    if (row.print(running) == value) continue;
    // What the table prints it also reads.
    const bool taken = is_live(row.option.name) && row.parse(change.settings, value);
    (taken ? change.taken : change.waiting).emplace_back(row.option.name);
  }
  change.settings.defaults = wanted.defaults;
  change.settings.defaults.codec = running.defaults.codec;
  // Workers share memory for inputs with the service, as much as was said at the start.
  auto& max_bytes = change.settings.defaults.limits.max_input_bytes;
  if (running.workers != 0 && max_bytes != running.defaults.limits.max_input_bytes) {
    max_bytes = running.defaults.limits.max_input_bytes;
    change.waiting.emplace_back("max-input-bytes");
  }
  change.settings.metadata_given = wanted.metadata_given;
  if (to_string(running.defaults) != to_string(change.settings.defaults) ||
      running.metadata_given != wanted.metadata_given) {
    change.taken.emplace_back("options");
  }
  if (running.defaults.codec != wanted.defaults.codec) change.waiting.emplace_back("codec");
  return change;
}

}  // namespace framewire::service::http
