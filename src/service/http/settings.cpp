#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <base/options_values.hpp>
#include <service/http/bad_value.hpp>
#include <service/http/endpoint.hpp>
#include <service/http/setting_values.hpp>
#include <service/http/settings.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;
using S = ServiceSettings;

constexpr std::uint64_t kBytes = 1024;
constexpr std::uint64_t kPixels = 1000;
constexpr std::uint64_t kMaxTimeoutMs = 86'400'000;
constexpr Text kLogWords[] = {"none", "errors", "requests"};
constexpr Text kTlsVersionWords[] = {"1.2", "1.3"};
constexpr Text kSwitchWords[] = {"off", "on"};
constexpr Text kUploadWords[] = {"auto", "on", "off"};
constexpr Text kMpsWords[] = {"off", "on", "attach"};

constexpr Text kThreadsAccepted = "a whole number from 0 to 1024; 0 is chosen";
constexpr Text kBytesAccepted =
    "a number of bytes from 1k and below 2^64, with k, M or G for powers of 1024";
constexpr Text kBytesOrNoneAccepted =
    "0, or a number of bytes from 1k and below 2^64, with k, M or G for powers of 1024";
constexpr Text kBytesOrAutoAccepted =
    "auto, 0, or a number of bytes from 1k and below 2^64, with k, M or G for powers of 1024";
constexpr Text kSmallBytesAccepted =
    "a number of bytes from 1k to 1G, with k, M or G for powers of 1024";
constexpr Text kCacheBytesAccepted =
    "a number of bytes from 1M and below 2^64, with k, M or G for powers of 1024";
constexpr Text kPixelsAccepted =
    "a number of pixels from 1 and below 2^64, with k, M or G for powers of 1000";
constexpr Text kTimeoutAccepted = "a whole number of milliseconds from 1 to 86400000";
constexpr Text kDelayAccepted = "a whole number of milliseconds from 0 to 86400000";
constexpr Text kSecondsAccepted = "a whole number of seconds from 0 to 3155760000";
constexpr Text kCountAccepted = "a whole number from 1 to 1000000";
constexpr Text kQueueAccepted = "a whole number from 0 to 1000000; 0 is chosen";

bool parse_count(Text text, std::uint64_t& out) {
  return options::parse_integer<std::uint64_t>(text, 1, 1'000'000, out);
}
bool parse_timeout(Text text, std::uint64_t& out, std::uint64_t low = 1) {
  return options::parse_integer<std::uint64_t>(text, low, kMaxTimeoutMs, out);
}
bool parse_seconds(Text text, std::uint64_t& out) {
  return options::parse_integer<std::uint64_t>(text, 0, 3'155'760'000, out);
}
bool parse_threads(Text text, unsigned& out) {
  return options::parse_integer(text, 0u, 1024u, out);
}
bool parse_negated(Text text, bool& out) {
  bool off = false;
  if (!options::parse_flag(text, off)) return false;
  out = !off;
  return true;
}

bool parse_listen(S& settings, Text text) {
  std::vector<std::string> all;
  while (true) {
    const auto comma = text.find(',');
    const Text one = text.substr(0, comma);
    if (!parse_endpoint(one)) return false;
    all.emplace_back(one);
    if (comma == Text::npos) break;
    text.remove_prefix(comma + 1);
  }
  settings.listen = std::move(all);
  return true;
}

// As parse_listen, with words.
bool parse_metrics(S& settings, Text text) {
  if (text == "none" || text.empty()) {
    settings.metrics = url::split_list(text, ",");
    return true;
  }
  if (!is_text(text)) return false;
  const std::vector<std::string> all = url::split_list(text, ",");
  const bool valid = std::all_of(all.begin(), all.end(), [](const std::string& one) {
    return one == "main" || parse_endpoint(one);
  });
  if (!valid) return false;
  settings.metrics = all;
  return true;
}

template <typename Number>
std::string number(Number value) {
  return fmt::format("{}", value);
}

constexpr Text kFlagAccepted = "true or false";
constexpr Text kListAccepted = "texts joined by commas";
constexpr Text kSecretsAccepted = "texts joined by commas, none of them empty";
constexpr Text kTextAccepted = "a text without control characters";
bool parse_milliseconds(Text text, std::chrono::milliseconds& out) {
  std::uint64_t value = 0;
  if (!parse_timeout(text, value)) return false;
  out = std::chrono::milliseconds(value);
  return true;
}

// clang-format off
// A flag of its own name.
#define FLAG_ROW(NAME, MEMBER, GROUP, HELP)                              \
  {{NAME, "", "", "", HELP, GROUP}, kFlagAccepted,                       \
   [](S& s, Text t) { return options::parse_flag(t, s.MEMBER); },        \
   [](const S& s) { return options::print_flag(s.MEMBER); }}
#define TEXT_ROW(NAME, METAVAR, MEMBER, GROUP, HELP)                     \
  {{NAME, METAVAR, "", "", HELP, GROUP}, kTextAccepted,                  \
   [](S& s, Text t) { return parse_text(t, s.MEMBER); },                 \
   [](const S& s) { return s.MEMBER; }}
#define LIST_ROW(NAME, MEMBER, GROUP, HELP)                              \
  {{NAME, "LIST", "", "", HELP, GROUP}, kListAccepted,                   \
   [](S& s, Text t) { return parse_list(t, s.MEMBER); },                 \
   [](const S& s) { return print_list(s.MEMBER); }}

#define ALLOWED_ROW(NAME, MEMBER, GROUP, HELP)                           \
  {{NAME, "LIST", "", "", HELP, GROUP}, kListAccepted,                   \
   [](S& s, Text t) { return parse_list(t, s.MEMBER); },                 \
   [](const S& s) { return print_list(s.MEMBER); }, false, false, true}

constexpr SettingRow kSettingRows[] = {
    {{"listen", "LIST", "", "", "where to wait for requests: ADDRESS:PORT, :PORT for this machine "
      "alone, or unix:PATH, each with tls: in front where TLS is spoken; several joined by commas",
      "Connections"},
     "ADDRESS:PORT, [IPV6]:PORT, :PORT, unix:PATH, tls: and one of these",
     parse_listen, [](const S& s) { return fmt::format("{}", fmt::join(s.listen, ",")); }},
    {{"threads", "N", "", "", "threads that read and write sockets; 0: one for every four cores",
      "Connections"}, kThreadsAccepted,
     [](S& s, Text t) { return parse_threads(t, s.threads); },
     [](const S& s) { return number(s.threads); }},
    {{"max-connections", "N", "", "", "connections at once; beyond, idle ones are closed, or the "
      "new one is answered 503", "Connections"}, kCountAccepted,
     [](S& s, Text t) { return parse_count(t, s.max_connections); },
     [](const S& s) { return number(s.max_connections); }},
    {{"max-header-bytes", "N", "", "", "a request's line and fields together", "Connections"},
     kSmallBytesAccepted,
     [](S& s, Text t) { return parse_small_bytes(t, s.max_header_bytes); },
     [](const S& s) { return options::print_count(s.max_header_bytes, kBytes); }},
    {{"max-header-lines", "N", "", "", "fields of a request", "Connections"}, kCountAccepted,
     [](S& s, Text t) { return parse_count(t, s.max_header_lines); },
     [](const S& s) { return number(s.max_header_lines); }},
    {{"max-target-bytes", "N", "", "", "path and query of a request", "Connections"},
     kSmallBytesAccepted,
     [](S& s, Text t) { return parse_small_bytes(t, s.max_target_bytes); },
     [](const S& s) { return options::print_count(s.max_target_bytes, kBytes); }},
    {{"read-timeout", "MS", "", "", "for a request's head; how far its body may fall behind "
      "128 KB/s", "Connections"}, kTimeoutAccepted,
     [](S& s, Text t) { return parse_timeout(t, s.read_timeout_ms); },
     [](const S& s) { return number(s.read_timeout_ms); }},
    {{"write-timeout", "MS", "", "", "how far the reading of an answer may fall behind "
      "128 KB/s", "Connections"}, kTimeoutAccepted,
     [](S& s, Text t) { return parse_timeout(t, s.write_timeout_ms); },
     [](const S& s) { return number(s.write_timeout_ms); }},
    {{"keep-alive-timeout", "MS", "", "", "how long a connection may be idle", "Connections"},
     kTimeoutAccepted,
     [](S& s, Text t) { return parse_timeout(t, s.keep_alive_timeout_ms); },
     [](const S& s) { return number(s.keep_alive_timeout_ms); }},
    TEXT_ROW("tls-cert", "FILE", tls_cert, "Connections",
             "certificate of tls: addresses, PEM, with its chain behind it"),
    TEXT_ROW("tls-key", "FILE", tls_key, "Connections",
             "its private key, PEM without a password; for the service's user alone (chmod 600)"),
    {{"tls-min-version", "VERSION", "1.2|1.3", "", "the oldest TLS that is spoken", "Connections"},
     "1.2 or 1.3",
     [](S& s, Text t) { return options::parse_word(t, kTlsVersionWords, s.tls_min_version); },
     [](const S& s) { return options::print_word(s.tls_min_version, kTlsVersionWords); }},
    {{"http2", "on|off", "on|off", "", "whether tls: addresses speak HTTP/2 with clients that offer it",
      "Connections"}, "on or off",
     [](S& s, Text t) { return options::parse_word(t, kSwitchWords, s.http2); },
     [](const S& s) { return options::print_word(s.http2, kSwitchWords); }},
    {{"max-handshakes", "N", "", "", "TLS handshakes under way at once; beyond, the oldest of the "
      "address that has most of them is closed", "Connections"}, kCountAccepted,
     [](S& s, Text t) { return parse_count(t, s.max_handshakes); },
     [](const S& s) { return number(s.max_handshakes); }},
    {{"queue", "N", "", "", "requests under way at once; beyond, 429; 0: 256, with a GPU 1024", "Work"},
     kQueueAccepted,
     [](S& s, Text t) { return options::parse_integer<std::uint64_t>(t, 0, 1'000'000, s.queue); },
     [](const S& s) { return number(s.queue); }},
    {{"bytes-under-way", "N", "", "", "bytes of inputs in memory at once; beyond, 503", "Work"},
     kBytesAccepted,
     [](S& s, Text t) { return options::parse_count(t, kBytes, 1024, s.bytes_under_way); },
     [](const S& s) { return options::print_count(s.bytes_under_way, kBytes); }},
    {{"pixels-under-way", "N", "", "", "pixels of inputs at once; beyond, 503", "Work"},
     kPixelsAccepted,
     [](S& s, Text t) { return options::parse_count(t, kPixels, 1, s.pixels_under_way); },
     [](const S& s) { return options::print_count(s.pixels_under_way, kPixels); }},
    {{"client-share", "PERCENT", "", "", "what one address may hold of queue, bytes, "
      "pixels and connections while others are refused", "Work"}, "a whole number from 1 to 100",
     [](S& s, Text t) {
       return options::parse_integer<std::uint64_t>(t, 1, 100, s.client_share_percent);
     },
     [](const S& s) { return number(s.client_share_percent); }},
    {{"request-timeout", "MS", "", "", "from a request's last byte to its answer; beyond, 503",
      "Work"}, kTimeoutAccepted,
     [](S& s, Text t) { return parse_timeout(t, s.request_timeout_ms); },
     [](const S& s) { return number(s.request_timeout_ms); }},
    {{"engine-threads", "N", "", "", "threads that decode and encode on the CPU; 0: one a core",
      "Work"}, kThreadsAccepted,
     [](S& s, Text t) { return parse_threads(t, s.engine_threads); },
     [](const S& s) { return number(s.engine_threads); }},
    {{"workers", "N", "", "", "processes that decode; a file that ends one costs no other request; 0: "
      "none, the service decodes itself", "Workers"},
     "a whole number from 0 to 1024",
     [](S& s, Text t) { return parse_threads(t, s.workers); },
     [](const S& s) { return number(s.workers); }},
    {{"worker-memory", "N", "", "", "bytes that each of them may allocate; 0: no bound. Not for GPUs",
      "Workers"}, kBytesOrNoneAccepted,
     [](S& s, Text t) { return parse_bytes_or_none(t, s.worker_memory); },
     [](const S& s) { return options::print_count(s.worker_memory, kBytes); }},
    {{"no-worker-sandbox", "", "", "", "start workers where the system has no seccomp filters",
      "Workers"}, kFlagAccepted,
     [](S& s, Text t) { return parse_negated(t, s.worker_sandbox); },
     [](const S& s) { return options::print_flag(!s.worker_sandbox); }},
    {{"device", "LIST", "", "", "GPUs that decode: ordinals joined by commas; with workers dealt to "
      "them", "GPU"}, "all, or ordinals joined by commas",
     [](S& s, Text t) { return options::parse_devices(t, s.devices); },
     [](const S& s) { return options::print_devices(s.devices); }},
    {{"gpu-memory", "N", "", "", "bound on the bytes taken of each GPU; 0: three quarters of what is "
      "free", "GPU"}, kBytesOrNoneAccepted,
     [](S& s, Text t) { return parse_bytes_or_none(t, s.gpu_memory_bytes); },
     [](const S& s) { return options::print_count(s.gpu_memory_bytes, kBytes); }},
    {{"warm", "N", "", "", "bytes of each GPU that are taken and used once before the first request, "
      "which then is as fast as any; 0: none; auto: 2G", "GPU"}, kBytesOrAutoAccepted,
     [](S& s, Text t) { return parse_bytes_or_auto(t, s.warm_bytes); },
     [](const S& s) { return print_bytes_or_auto(s.warm_bytes); }},
    {{"mps", "HOW", "off|on|attach", "", "share the GPU with other processes through NVIDIA's "
      "Multi-Process Service; on: start its daemon, and end it; attach: use the one of "
      "CUDA_MPS_PIPE_DIRECTORY", "GPU"}, "off, on or attach",
     [](S& s, Text t) { return options::parse_word(t, kMpsWords, s.mps.mode); },
     [](const S& s) { return options::print_word(s.mps.mode, kMpsWords); }},
    TEXT_ROW("mps-program", "FILE", mps.program, "GPU",
             "nvidia-cuda-mps-control; looked for, if not given"),
    {{"mps-threads", "PERCENT", "", "", "of the GPU's threads that this process may use; 0: all",
      "GPU"}, "a whole number from 0 to 100",
     [](S& s, Text t) { return options::parse_integer(t, 0u, 100u, s.mps.threads_percent); },
     [](const S& s) { return number(s.mps.threads_percent); }},
    {{"mps-memory", "N", "", "", "bound on all memory that CUDA takes on each GPU of device; 0: none",
      "GPU"}, kBytesOrNoneAccepted,
     [](S& s, Text t) { return parse_bytes_or_none(t, s.mps.memory_bytes); },
     [](const S& s) { return options::print_count(s.mps.memory_bytes, kBytes); }},
    TEXT_ROW("local", "PATH", local.path, "Local clients",
             "also serve processes of this machine, at a socket there: framewire batch --server PATH"),
    {{"local-mode", "MODE", "", "", "permission bits of that socket: who may write may connect",
      "Local clients"}, "0 to 777, octal",
     [](S& s, Text t) { return parse_mode(t, s.local.mode); },
     [](const S& s) { return fmt::format("{:o}", s.local.mode); }, false, true},
    {{"local-uids", "LIST", "", "", "numbers of the users that are served there; all, if not given",
      "Local clients"}, "numbers of users, joined by commas",
     [](S& s, Text t) { return parse_uids(t, s.local.uids); },
     [](const S& s) { return fmt::format("{}", fmt::join(s.local.uids, ",")); }, false, false, true},
    TEXT_ROW("remote-clients", "ADDRESS", remote_clients.address, "Remote clients",
             "also serve clients on other hosts, at this address, HOST:PORT: framewire batch "
             "--server; :PORT is this machine alone"),
    TEXT_ROW("remote-psk", "FILE", remote_clients.psk_file, "Remote clients",
             "their pre-shared keys, lines NAME HEX, readable by their owner only"),
    ALLOWED_ROW("remote-allow", remote_clients.allowed, "Remote clients",
             "names of the keys that are served; all, if not given"),
    {{"remote-link", "NAME", "stream|ucx-rdma", "", "what carries their data: TLS, or RDMA in clear, "
      "where they name it, too", "Remote clients"}, "stream or ucx-rdma",
     [](S& s, Text t) { return parse_link(t, s.remote_clients.link); },
     [](const S& s) { return s.remote_clients.link; }},
    TEXT_ROW("remote-interface", "NAME", remote_clients.interface, "Remote clients",
             "RDMA device and port of ucx-rdma, mlx5_0:1"),
    {{"drain-delay", "MS", "", "", "on SIGTERM: how long /readyz fails before the listeners close",
      "Work"}, kDelayAccepted,
     [](S& s, Text t) { return parse_timeout(t, s.drain_delay_ms, 0); },
     [](const S& s) { return number(s.drain_delay_ms); }},
    {{"drain-timeout", "MS", "", "", "on SIGTERM: how long requests under way may take",
      "Work"}, kDelayAccepted,
     [](S& s, Text t) { return parse_timeout(t, s.drain_timeout_ms, 0); },
     [](const S& s) { return number(s.drain_timeout_ms); }},
    TEXT_ROW("folder", "DIR", source.root, "Originals",
             "serve originals below this folder; the command's argument says the same"),
    FLAG_ROW("remote", source.remote, "Originals", "fetch originals of http and https URLs"),
    ALLOWED_ROW("allowed-sources", source.allowed_sources, "Originals",
             "URLs of originals that may be fetched, by host and path; any, if not given"),
    FLAG_ROW("s3", source.objects.on, "Originals", "fetch originals of s3://BUCKET/KEY"),
    ALLOWED_ROW("s3-allowed-buckets", source.objects.allowed_buckets, "Originals",
             "buckets whose objects may be fetched; all that the credentials open, if not given"),
    LIST_ROW("s3-denied-buckets", source.objects.denied_buckets, "Originals",
             "buckets whose objects may not be fetched"),
    TEXT_ROW("s3-version-separator", "TEXT", source.objects.version_separator, "Originals",
             "what stands between a key and the object's version; empty: URLs name no versions"),
    TEXT_ROW("s3-endpoint", "URL", source.objects.store.endpoint, "Originals",
             "where the object store is; as the AWS tools are configured, if not given"),
    TEXT_ROW("s3-region", "NAME", source.objects.store.region, "Originals", "its region, likewise"),
    TEXT_ROW("s3-profile", "NAME", source.objects.store.profile, "Originals",
             "profile of the AWS tools' files that has its credentials"),
    {{"s3-path-style", "HOW", "auto|off|on", "", "whether a bucket is part of the path, not of the "
      "host; auto: where there is an endpoint", "Originals"}, "auto, off or on",
     [](S& s, Text t) { return parse_path_style(t, s.source.objects.store.path_style); },
     [](const S& s) { return print_path_style(s.source.objects.store.path_style); }},
    FLAG_ROW("allow-loopback", source.addresses.allow_loopback, "Originals",
             "origins may be on this machine"),
    FLAG_ROW("allow-link-local", source.addresses.allow_link_local, "Originals",
             "origins may have link-local addresses"),
    FLAG_ROW("allow-private", source.addresses.allow_private, "Originals",
             "origins may have private addresses"),
    {{"max-redirects", "N", "", "", "redirects of an origin that are followed", "Originals"},
     "a whole number from 0 to 20",
     [](S& s, Text t) { return options::parse_integer(t, 0u, 20u, s.source.max_redirects); },
     [](const S& s) { return number(s.source.max_redirects); }},
    {{"download-timeout", "MS", "", "", "for one original, redirects included", "Originals"},
     kTimeoutAccepted,
     [](S& s, Text t) { return parse_milliseconds(t, s.source.download_timeout); },
     [](const S& s) { return number(s.source.download_timeout.count()); }},
    TEXT_ROW("user-agent", "TEXT", source.user_agent, "Originals", "what origins are told"),
    TEXT_ROW("origin-ca", "FILE", source.ca_file, "Originals",
             "authorities that https origins are checked by, PEM; the system's, if not given"),
    {{"keys", "LIST", "", "", "keys of signatures, hexadecimal; without keys any signature passes",
      "URLs"}, kSecretsAccepted,
     [](S& s, Text t) { return parse_list(t, s.url.keys); },
     [](const S& s) { return print_list(s.url.keys); }, true},
    {{"salts", "LIST", "", "", "salts of signatures, one for each key", "URLs"}, kSecretsAccepted,
     [](S& s, Text t) { return parse_list(t, s.url.salts); },
     [](const S& s) { return print_list(s.url.salts); }, true},
    {{"signature-size", "N", "", "", "bytes of a signature that count", "URLs"},
     "a whole number from 1 to 32",
     [](S& s, Text t) { return options::parse_integer(t, 1, 32, s.url.signature_size); },
     [](const S& s) { return number(s.url.signature_size); }},
    {{"trusted-signatures", "LIST", "", "", "signatures that pass as they are", "URLs"},
     kSecretsAccepted,
     [](S& s, Text t) { return parse_list(t, s.url.trusted_signatures); },
     [](const S& s) { return print_list(s.url.trusted_signatures); }, true},
    LIST_ROW("presets", url.presets, "URLs", "named options: name=option/option"),
    TEXT_ROW("presets-file", "FILE", presets_file, "URLs",
             "further presets, one a line; # begins a line of comment"),
    FLAG_ROW("only-presets", url.only_presets, "URLs", "URLs name presets, and nothing else"),
    ALLOWED_ROW("allowed-options", url.allowed_processing_options, "URLs",
             "options that URLs may use; all, if not given"),
    FLAG_ROW("allow-security-options", url.allow_security_options, "URLs",
             "URLs may change limits of originals"),
    FLAG_ROW("client-hints", url.client_hints, "URLs", "heed DPR and Width of browsers"),
    TEXT_ROW("arguments-separator", "TEXT", url.arguments_separator, "URLs",
             "between an option and its arguments"),
    TEXT_ROW("base-url", "URL", url.base_url, "URLs", "goes in front of sources"),
    LIST_ROW("url-replacements", url.url_replacements, "URLs",
             "pattern=replacement, done to sources in order"),
    FLAG_ROW("encoded-filenames", url.base64_url_includes_filename, "URLs",
             "the last segment of an encoded source is a file name"),
    TEXT_ROW("path-prefix", "PATH", url.path_prefix, "URLs", "goes in front of every path"),
    TEXT_ROW("cache-dir", "DIR", cache_dir, "Cache",
             "keep results of URLs in this folder; none are kept, if not given"),
    {{"cache-size", "BYTES", "", "", "of the files in that folder", "Cache"},
     kCacheBytesAccepted,
     [](S& s, Text t) { return options::parse_count(t, kBytes, 1u << 20, s.cache_bytes); },
     [](const S& s) { return options::print_count(s.cache_bytes, kBytes); }},
    {{"cache-entries", "N", "", "", "results in that folder; about 120 bytes of memory each",
      "Cache"}, "a whole number from 1 to 100000000",
     [](S& s, Text t) {
       return options::parse_integer<std::uint64_t>(t, 1, 100'000'000, s.cache_entries);
     },
     [](const S& s) { return number(s.cache_entries); }},
    {{"cache-age", "S", "", "", "results older than this many seconds are made again, whatever an "
      "origin says", "Cache"}, kSecondsAccepted,
     [](S& s, Text t) { return parse_seconds(t, s.cache_age_s); },
     [](const S& s) { return number(s.cache_age_s); }},
    {{"cache-fresh", "S", "", "", "seconds for which an original counts as unchanged whose origin "
      "does not say; 0: the origin is asked each time", "Cache"}, kSecondsAccepted,
     [](S& s, Text t) { return parse_seconds(t, s.cache_fresh_s); },
     [](const S& s) { return number(s.cache_fresh_s); }},
    {{"ttl", "S", "", "", "seconds for which answers may be cached; 0 is no-cache", "Answers"},
     kSecondsAccepted,
     [](S& s, Text t) { return parse_seconds(t, s.ttl_s); },
     [](const S& s) { return number(s.ttl_s); }},
    FLAG_ROW("cache-control-passthrough", cache_control_passthrough, "Answers",
             "hand on the origin's Cache-Control"),
    {{"no-etag", "", "", "", "send no ETag, and heed no If-None-Match", "Answers"}, kFlagAccepted,
     [](S& s, Text t) { return parse_negated(t, s.etag); },
     [](const S& s) { return options::print_flag(!s.etag); }},
    {{"etag-buster", "TEXT", "", "", "goes into every ETag: another text makes whatever others keep "
      "outdated, cached results included", "Answers"},
     "up to 64 letters, digits, - and _",
     [](S& s, Text t) { return parse_buster(t, s.etag_buster); },
     [](const S& s) { return s.etag_buster; }},
    {{"no-last-modified", "", "", "", "send no Last-Modified, and heed no If-Modified-Since",
      "Answers"}, kFlagAccepted,
     [](S& s, Text t) { return parse_negated(t, s.last_modified); },
     [](const S& s) { return options::print_flag(!s.last_modified); }},
    TEXT_ROW("fallback-image", "FILE", fallback_image, "Answers",
             "a JPEG, made as asked for, in the place of originals that cannot be had or decoded"),
    {{"fallback-status", "N", "", "", "status of that answer; 0: the error's own", "Answers"},
     "0, 200, or 400 to 599",
     [](S& s, Text t) { return parse_fallback_status(t, s.fallback_status); },
     [](const S& s) { return number(s.fallback_status); }},
    {{"fallback-ttl", "S", "", "", "as ttl, for that answer", "Answers"}, kSecondsAccepted,
     [](S& s, Text t) { return parse_seconds(t, s.fallback_ttl_s); },
     [](const S& s) { return number(s.fallback_ttl_s); }},
    FLAG_ROW("canonical-link", canonical_link, "Answers", "name a source of http or https in a Link field"),
    FLAG_ROW("debug-headers", debug_headers, "Answers", "tell sizes before and after"),
    FLAG_ROW("allow-raw", allow_raw, "Answers", "URLs may ask for originals as they are, metadata included"),
    {{"no-page", "", "", "", "serve no page to try the service on", "Answers"}, kFlagAccepted,
     [](S& s, Text t) { return parse_negated(t, s.page); },
     [](const S& s) { return options::print_flag(!s.page); }},
    TEXT_ROW("allow-origin", "ORIGIN", allow_origin, "Answers",
             "value of Access-Control-Allow-Origin"),
    {{"uploads", "HOW", "auto|on|off", "", "whether POST takes pictures; auto: unless keys or "
      "only-presets bind URLs, which no upload is bound by, and there is no secret", "Answers"},
     "auto, on or off",
     [](S& s, Text t) { return options::parse_word(t, kUploadWords, s.uploads); },
     [](const S& s) { return options::print_word(s.uploads, kUploadWords); }},
    {{"secret", "TEXT", "", "", "what Authorization: Bearer must bring for pictures", "Answers"},
     "a text that is not empty, without control characters",
     [](S& s, Text t) { return parse_text(t, s.secret); },
     [](const S& s) { return s.secret; }, true},
    {{"metrics", "LIST", "", "", "where Prometheus finds /metrics: addresses of its own, as for "
      "listen; main: at those of listen, for everybody; none. Not given: at those of listen, for "
      "this machine alone", "Output"},
     "main, none, ADDRESS:PORT, [IPV6]:PORT, :PORT, unix:PATH, tls: and an address", parse_metrics,
     [](const S& s) { return print_list(s.metrics); }},
    {{"log", "WHAT", "none|errors|requests", "", "lines of JSON on standard error: errors of the "
      "server's alone, or every request", "Output"}, "none, errors or requests",
     [](S& s, Text t) { return options::parse_word(t, kLogWords, s.log); },
     [](const S& s) { return options::print_word(s.log, kLogWords); }},
};
#undef FLAG_ROW
#undef TEXT_ROW
#undef LIST_ROW
#undef ALLOWED_ROW
// clang-format on

}  // namespace

std::span<const SettingRow> setting_rows() noexcept { return kSettingRows; }

std::span<const OptionSpec> setting_specs() {
  // Help and the manual show defaults; the table has them as values.
  static const std::vector<std::string> defaults = [] {
    std::vector<std::string> texts;
    for (const SettingRow& row : kSettingRows) texts.push_back(row.default_text());
    return texts;
  }();
  static const std::vector<OptionSpec> specs = [] {
    std::vector<OptionSpec> all;
    for (std::size_t i = 0; i < std::size(kSettingRows); ++i) {
      all.push_back(kSettingRows[i].option);
      all.back().default_value = defaults[i];
    }
    return all;
  }();
  return specs;
}

Result<void> set_setting(ServiceSettings& settings, Text name, Text value) {
  for (const SettingRow& row : kSettingRows) {
    if (row.option.name != name) continue;
    const bool lacks_secret =
        row.is_secret && has_empty_secret(value, row.option.metavar == "LIST");
    const bool allows_none = row.allows_some && lists_nothing(value);
    if (!lacks_secret && !allows_none && row.parse(settings, value)) return {};
    const std::string found = lacks_secret    ? "an empty text, which would ask for nothing"
                              : row.is_secret ? "something else"
                                              : fmt::format("'{}'", value.substr(0, 100));
    return bad_value(name, fmt::format("found {}; accepted: {}", found, row.accepted));
  }
  const auto specs = option_specs();
  const bool known = std::any_of(specs.begin(), specs.end(),
                                 [&](const OptionSpec& spec) { return spec.name == name; });
  if (known) {
    if (name == "metadata") settings.metadata_given = true;
    return set_option(settings.defaults, name, value);
  }
  return bad_value(name.substr(0, 100), "there is no such setting");
}

std::string settings_as_markdown() {
  std::string out = "| option | values | default | what it does |\n|---|---|---|---|\n";
  for (const SettingRow& row : kSettingRows) {
    std::string values(row.accepted);
    if (!row.option.choices.empty()) {
      values = fmt::format("`{}`", row.option.choices);
      for (std::size_t at = 0; (at = values.find('|', at)) != std::string::npos; at += 4) {
        values.replace(at, 1, "`, `");
      }
    }
    out += fmt::format("| `--{}` | {} | {} | {} |\n", row.option.name, values, row.default_text(),
                       row.option.help);
  }
  return out;
}

}  // namespace framewire::service::http
