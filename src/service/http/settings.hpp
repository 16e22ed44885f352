// Everything that can be set about the service: one table of it, whatever the setting comes from.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <service/source/settings.hpp>
#include <service/url/settings.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::http {

/// What is written to the log.
enum class LogLevel : std::uint8_t { kNone, kErrors, kRequests };

/// The oldest TLS that is spoken.
enum class TlsVersion : std::uint8_t { k12, k13 };

/// Whether NVIDIA's Multi-Process Service shares the GPU: not; through a daemon that this service
/// starts and ends; through one that runs.
enum class MpsMode : std::uint8_t { kOff, kOn, kAttach };

/// Whether POST takes pictures of the client's. kAuto: unless only signed URLs or presets are
/// answered and there is no secret, since an upload names neither.
enum class UploadMode : std::uint8_t { kAuto, kOn, kOff };

struct MpsSettings {
  MpsMode mode = MpsMode::kOff;
  std::string program;             ///< nvidia-cuda-mps-control; empty: looked for
  unsigned threads_percent = 0;    ///< of the GPU's; 0: all
  std::uint64_t memory_bytes = 0;  ///< bound on what CUDA takes of each GPU; 0: none
};

/// Who may use the engine from other processes of this machine.
struct LocalClientSettings {
  std::string path;            ///< of their socket; empty: nobody
  unsigned mode = 0660;        ///< its permission bits
  std::vector<unsigned> uids;  ///< users that are served; empty: all
};

/// Who may use it from other hosts.
struct RemoteClientSettings {
  std::string address;  ///< HOST:PORT; empty: nobody
  std::string psk_file;
  std::vector<std::string> allowed;  ///< names of keys; empty: all
  std::string link = "stream";       ///< or ucx-rdma
  std::string interface;             ///< RDMA device and port of ucx-rdma
};

/// How the service runs. Defaults are visible here and nowhere else.
struct ServiceSettings {
  std::vector<std::string> listen = {"127.0.0.1:8080"};
  unsigned threads = 0;         ///< that read and write sockets; 0: chosen
  unsigned engine_threads = 0;  ///< EngineOptions::threads
  unsigned inspect_threads = 1;

  unsigned workers = 0;             ///< processes that decode; 0: this one does
  std::uint64_t worker_memory = 0;  ///< bytes of each of these, 0: no bound
  bool worker_sandbox = true;       ///< of those without a GPU

  std::vector<int> devices;            ///< EngineOptions::devices
  std::uint64_t gpu_memory_bytes = 0;  ///< EngineOptions::gpu_memory_bytes
  /// EngineOptions::warm_bytes; nothing: 2 GiB, with which requests of all sizes are as fast in the
  /// first seconds as later (docs/benchmarks/gpu.md)
  std::optional<std::uint64_t> warm_bytes;
  MpsSettings mps;

  LocalClientSettings local;
  RemoteClientSettings remote_clients;

  std::uint64_t max_connections = 4096;
  std::uint64_t max_header_bytes = 32u << 10;
  std::uint64_t max_header_lines = 100;
  std::uint64_t max_target_bytes = 16u << 10;

  std::string tls_cert;  ///< of `tls:` addresses: a chain in PEM, the service's own first
  std::string tls_key;   ///< its private key in PEM
  TlsVersion tls_min_version = TlsVersion::k12;
  std::uint64_t max_handshakes = 256;  ///< of TLS, under way at once
  bool http2 = true;                   ///< spoken with clients that offer it when they shake hands

  std::uint64_t queue = 0;                         ///< requests under way at once; most_requests()
  std::uint64_t bytes_under_way = 1ull << 30;      ///< of their inputs
  std::uint64_t pixels_under_way = 2'000'000'000;  ///< of their inputs
  std::uint64_t client_share_percent = 50;         ///< of these three, where others are refused

  std::uint64_t read_timeout_ms = 10'000;
  std::uint64_t write_timeout_ms = 10'000;
  std::uint64_t keep_alive_timeout_ms = 10'000;
  std::uint64_t request_timeout_ms = 10'000;
  std::uint64_t drain_delay_ms = 0;
  std::uint64_t drain_timeout_ms = 20'000;

  /// Where metrics are read: addresses, "main" for the listeners above, "none". Empty: at the
  /// listeners above, by clients on this machine.
  std::vector<std::string> metrics;

  LogLevel log = LogLevel::kRequests;

  source::SourceSettings source;  ///< `allocate` and the bounds of bytes follow from the rest
  url::UrlSettings url;

  std::string presets_file;  ///< further presets, one a line; empty: none
  std::string etag_buster;   ///< another one makes every ETag, and every cached result, another

  std::string fallback_image;           ///< a JPEG for originals that cannot be had; empty: none
  std::uint64_t fallback_status = 200;  ///< it is answered with; 0: the error's own
  std::uint64_t fallback_ttl_s = 60;    ///< of its Cache-Control; 0: no-cache

  std::string cache_dir;                       ///< of the cache of results; empty: there is none
  std::uint64_t cache_bytes = 1ull << 30;      ///< of its files
  std::uint64_t cache_entries = 1'000'000;     ///< their number
  std::uint64_t cache_age_s = 30 * 24 * 3600;  ///< what is older is made again
  std::uint64_t cache_fresh_s = 0;             ///< for origins that do not say how long

  std::uint64_t ttl_s = 31'536'000;        ///< of Cache-Control; 0: no-cache
  bool cache_control_passthrough = false;  ///< the origin's Cache-Control and Expires count
  bool etag = true;
  bool last_modified = true;
  bool canonical_link = false;  ///< Link to the source, rel="canonical"
  bool debug_headers = false;   ///< sizes before and after
  bool allow_raw = false;       ///< originals may be asked for as they are
  bool page = true;             ///< the page to try the service on, at /
  std::string allow_origin;     ///< of Access-Control-Allow-Origin; empty: none
  UploadMode uploads = UploadMode::kAuto;
  std::string secret;  ///< of Authorization: Bearer; empty: none is asked for

  /// What a request that says nothing gets: defaults, limits, codec.
  ResizeOptions defaults;
  /// Somebody has set defaults.metadata: URLs otherwise keep copyright and author, as imgproxy
  /// does.
  bool metadata_given = false;
};

/// ServiceSettings::queue, or what is chosen where that is 0. What keeps a CPU busy for a second is
/// 3 ms of a GPU's work.
[[nodiscard]] constexpr std::uint64_t most_requests(const ServiceSettings& settings,
                                                    bool has_device) {
  return settings.queue != 0 ? settings.queue : has_device ? 1024 : 256;
}

/// Whether POST /v1/resize and /v1/inspect are answered.
[[nodiscard]] constexpr bool takes_uploads(const ServiceSettings& settings) {
  if (settings.uploads != UploadMode::kAuto) return settings.uploads == UploadMode::kOn;
  const bool urls_are_bound = !settings.url.keys.empty() || settings.url.only_presets;
  return !urls_are_bound || !settings.secret.empty();
}

/// One setting. Its name is a flag's (--max-header-bytes), an environment variable's
/// (FRAMEWIRE_MAX_HEADER_BYTES) and a key's in the file (max-header-bytes = 32768).
struct SettingRow {
  OptionSpec option;          ///< option.default_value is empty: see default_text()
  std::string_view accepted;  ///< for messages: "a number of bytes, …"
  bool (*parse)(ServiceSettings&, std::string_view);
  std::string (*print)(const ServiceSettings&);
  bool is_secret = false;  ///< the value is never shown
  bool is_octal = false;   ///< its digits are octal
  /// Lists what is allowed of all; without it all is, so that nobody may give an empty list.
  bool allows_some = false;

  [[nodiscard]] std::string default_text() const { return print(ServiceSettings{}); }
};

/// The service's own settings. Those of pictures (option_specs()) are settings too: they set
/// ServiceSettings::defaults. Static storage.
[[nodiscard]] std::span<const SettingRow> setting_rows() noexcept;
/// The same as options of a command. Static storage.
[[nodiscard]] std::span<const OptionSpec> setting_specs();

/// Sets one setting by its name.
/// @return invalid_input about the setting, with what was found and what would be accepted;
///         unknown names, with the nearest that there is
[[nodiscard]] Result<void> set_setting(ServiceSettings& settings, std::string_view name,
                                       std::string_view value);

/// Checks what one setting alone cannot. @return invalid_input about one of them
[[nodiscard]] Result<void> validate(const ServiceSettings& settings);

/// The table of the service's own settings, as docs/options.md shows it.
[[nodiscard]] std::string settings_as_markdown();

}  // namespace framewire::service::http
