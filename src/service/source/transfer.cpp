#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <service/source/fetch_error.hpp>
#include <service/source/transfer.hpp>
#include <utility>

namespace framewire::service::source {
namespace {

// A body that nobody wants is read, to keep the connection, if it is no longer than this.
constexpr std::size_t kMaxDiscardedBytes = 16 * 1'024;
constexpr long kReceiveBytes = 128 * 1'024;  // libcurl's own 16 KB cost a sixth of the throughput
constexpr std::chrono::seconds kMinStall{3};

// How long an origin may be slow: whoever gives originals more time than is usual has origins that
// make them when they are asked, and are silent meanwhile.
long stall_seconds(const SourceSettings& settings) noexcept {
  const auto share =
      std::chrono::duration_cast<std::chrono::seconds>(settings.download_timeout / 5 * 3);
  return static_cast<long>(std::max(kMinStall, share).count());
}

// What libcurl calls a header line over its own bound of 100 KB: CURLE_TOO_LARGE since 8.6, before
// that no memory.
bool is_header_overflow(CURLcode code, const store::HttpAnswerHead& head) noexcept {
  constexpr int kTooLarge = 100;
  return static_cast<int>(code) == kTooLarge || (code == CURLE_OUT_OF_MEMORY && !head.complete());
}

FetchErrorKind kind_of(CURLcode code, const store::HttpAnswerHead& head) noexcept {
  if (is_header_overflow(code, head)) return FetchErrorKind::kBadAnswer;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return FetchErrorKind::kTimeout;
    case CURLE_COULDNT_RESOLVE_HOST:
      return FetchErrorKind::kResolve;
    case CURLE_PARTIAL_FILE:
      return FetchErrorKind::kTruncated;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return head.status == 0 ? FetchErrorKind::kConnect : FetchErrorKind::kTruncated;
    case CURLE_OUT_OF_MEMORY:
      return FetchErrorKind::kBusy;
    case CURLE_URL_MALFORMAT:
      return FetchErrorKind::kBadUrl;
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR:
      return FetchErrorKind::kBadAnswer;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return FetchErrorKind::kTls;
    default:
      return FetchErrorKind::kConnect;
  }
}

std::span<const std::uint8_t> as_bytes(const char* data, std::size_t count) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(data), count};
}

}  // namespace

OriginTransfer::OriginTransfer(const SourceSettings& settings, const Network& network,
                               store::s3::KeptSockets& sockets, Budget& budget,
                               const FetchRequest& request, std::size_t max_bytes)
    : settings_(settings),
      network_(network),
      sockets_(sockets),
      request_(request),
      names_(curl_share_init()),
      easy_(curl_easy_init()),
      body_(settings.allocate, budget, max_bytes, request.may_hold) {
  if (names_ &&
      curl_share_setopt(names_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) != CURLSHE_OK) {
    names_.reset();
  }
}

bool OriginTransfer::set_headers() {
  conditional_ = false;
  std::string condition;
  if (is_field_value(request_.if_none_match)) {
    condition = "If-None-Match: " + request_.if_none_match;
  } else if (is_field_value(request_.if_modified_since)) {
    condition = "If-Modified-Since: " + request_.if_modified_since;
  }
  List list(curl_slist_append(nullptr, "Accept-Encoding: identity"));
  if (!list) return false;
  if (!condition.empty()) {
    if (curl_slist_append(list.get(), condition.c_str()) == nullptr) return false;
    conditional_ = true;
  }
  headers_ = std::move(list);
  return set(CURLOPT_HTTPHEADER, headers_.get());
}

bool OriginTransfer::set_addresses(const SourceUrl& url, std::span<const IpAddress> addresses) {
  resolved_.reset();
  if (addresses.empty()) return true;
  std::string entry = fmt::format("{}:{}:", url.host, url.port);
  for (const IpAddress& address : addresses) {
    if (&address != addresses.data()) entry += ',';
    entry += address.v6 ? "[" + to_string(address) + "]" : to_string(address);
  }
  resolved_.reset(curl_slist_append(nullptr, entry.c_str()));
  return resolved_ && set(CURLOPT_RESOLVE, resolved_.get());
}

bool OriginTransfer::set_options(const SourceUrl& url, std::chrono::milliseconds dial) {
  const bool https = url.scheme == Scheme::kHttps;
  const auto connect = std::max(dial, std::chrono::milliseconds(1)) +
                       (https ? settings_.tls_timeout : std::chrono::milliseconds(0));
  const bool request = set(CURLOPT_URL, url.text().c_str()) && set(CURLOPT_PATH_AS_IS, 1L) &&
                       set(CURLOPT_USERAGENT, settings_.user_agent.c_str()) &&
                       set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
                       set(CURLOPT_HTTP09_ALLOWED, 0L) && set(CURLOPT_FOLLOWLOCATION, 0L) &&
                       set(CURLOPT_SHARE, names_.get());
  // What an origin compressed, though set_headers() asks it not to, is unpacked here.
  const bool coding = set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  // libcurl reads proxies from the environment unless told that there is none.
  const bool confined = set(CURLOPT_PROTOCOLS_STR, https ? "https" : "http") &&
                        set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https") && set(CURLOPT_PROXY, "") &&
                        set(CURLOPT_NOPROXY, "*") &&
                        set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED)) &&
                        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) && set(CURLOPT_NOSIGNAL, 1L);
  const bool tls = set(CURLOPT_SSL_VERIFYPEER, 1L) && set(CURLOPT_SSL_VERIFYHOST, 2L) &&
                   set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
                   (settings_.ca_file.empty() || set(CURLOPT_CAINFO, settings_.ca_file.c_str()));
  const bool bounds =
      set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count())) &&
      set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(settings_.min_bytes_per_second)) &&
      set(CURLOPT_LOW_SPEED_TIME, stall_seconds(settings_)) &&
      set(CURLOPT_BUFFERSIZE, kReceiveBytes);
  const bool callbacks =
      set(CURLOPT_ERRORBUFFER, error_text_.data()) && set(CURLOPT_PRIVATE, this) &&
      set(CURLOPT_HEADERFUNCTION, &OriginTransfer::on_header) && set(CURLOPT_HEADERDATA, this) &&
      set(CURLOPT_WRITEFUNCTION, &OriginTransfer::on_body) && set(CURLOPT_WRITEDATA, this) &&
      set(CURLOPT_OPENSOCKETFUNCTION, &OriginTransfer::on_socket) &&
      set(CURLOPT_OPENSOCKETDATA, this) &&
      set(CURLOPT_CLOSESOCKETFUNCTION, &store::s3::KeptSockets::close) &&
      set(CURLOPT_CLOSESOCKETDATA, &sockets_) &&
      set(CURLOPT_PREREQFUNCTION, &OriginTransfer::on_connected) && set(CURLOPT_PREREQDATA, this);
  return request && coding && confined && tls && bounds && callbacks;
}

Fetched<void> OriginTransfer::prepare(const SourceUrl& url, std::span<const IpAddress> addresses,
                                      std::chrono::milliseconds dial) {
  head_ = {};
  body_.reset();
  unpacker_.reset();
  meaning_.reset();
  fault_.reset();
  refused_address_ = dialled_ = spoilt_ = false;
  discarded_ = 0;
  paused_ = false;
  error_text_[0] = '\0';
  if (!easy_ || !names_) return fail_fetch(FetchErrorKind::kBusy, "no handle");
  curl_easy_reset(easy_.get());
  if (!set_options(url, dial) || !set_headers() || !set_addresses(url, addresses)) {
    return fail_fetch(FetchErrorKind::kBusy, "libcurl refused an option");
  }
  return {};
}

std::size_t OriginTransfer::on_header(char* data, std::size_t size, std::size_t count,
                                      void* self) noexcept {
  auto& transfer = *static_cast<OriginTransfer*>(self);
  try {
    if (transfer.header({data, size * count})) return size * count;
  } catch (...) {
    transfer.fault_ = fetch_error(FetchErrorKind::kBusy);
  }
  return 0;
}

std::size_t OriginTransfer::on_body(char* data, std::size_t size, std::size_t count,
                                    void* self) noexcept {
  auto& transfer = *static_cast<OriginTransfer*>(self);
  if (!transfer.body(as_bytes(data, size * count))) return CURL_WRITEFUNC_ERROR;
  return transfer.paused_ ? CURL_WRITEFUNC_PAUSE : size * count;
}

bool OriginTransfer::header(std::string_view line) {
  const bool known = head_.complete();
  if (!head_.take(line)) {
    fault_ = fetch_error(FetchErrorKind::kBadAnswer, "a malformed head, or too long a one");
    return false;
  }
  if (known || !head_.complete()) return true;
  meaning_ = judge(head_, conditional_);
  if (!*meaning_ || **meaning_ != AnswerMeaning::kBody) {
    // Not waited for unless it is short.
    return head_.status == 304 || (head_.length && *head_.length <= kMaxDiscardedBytes);
  }
  // The length of what is compressed is not that of the original.
  if (store::s3::is_gzip(head_.content_encoding)) {
    unpacker_.emplace(body_);
    return true;
  }
  if (!head_.length) return true;
  if (const Body::Fault fault = body_.expect(*head_.length)) {
    fault_ = fetch_error(*fault, fmt::format("{} bytes", *head_.length));
    return false;
  }
  return true;
}

bool OriginTransfer::body(std::span<const std::uint8_t> bytes) noexcept {
  if (!meaning_) {
    fault_ = fetch_error(FetchErrorKind::kBadAnswer, "a body without a head");
    return false;
  }
  if (!*meaning_ || **meaning_ != AnswerMeaning::kBody) {
    discarded_ += bytes.size();
    return discarded_ <= kMaxDiscardedBytes;
  }
  if (const Body::Fault fault = unpacker_ ? unpack(bytes) : body_.append(bytes)) {
    fault_ = fetch_error(*fault, "while the body came");
    return false;
  }
  return true;
}

Body::Fault OriginTransfer::unpack(std::span<const std::uint8_t> packed) noexcept {
  const auto all = unpacker_->append(packed);
  if (!all) return all.error();
  paused_ = !*all;
  return std::nullopt;
}

CURLcode OriginTransfer::begin_turn() noexcept {
  if (unpacker_) unpacker_->begin_turn();
  if (!std::exchange(paused_, false)) return CURLE_OK;
  return curl_easy_pause(easy_.get(), CURLPAUSE_CONT);
}

curl_socket_t OriginTransfer::on_socket(void* self, curlsocktype, curl_sockaddr* address) noexcept {
  auto& transfer = *static_cast<OriginTransfer*>(self);
  const auto judged = address_of(&address->addr, address->addrlen);
  if (!judged || !permits(transfer.settings_.addresses, *judged)) {
    transfer.refused_address_ = true;
    return CURL_SOCKET_BAD;
  }
  if (transfer.network_.dial) {
    try {
      sockaddr_storage storage{};
      std::memcpy(&storage, &address->addr,
                  std::min<std::size_t>(address->addrlen, sizeof storage));
      transfer.network_.dial(storage);
      address->family = storage.ss_family;
      address->addrlen = storage.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
      std::memcpy(&address->addr, &storage, address->addrlen);
    } catch (...) {
      return CURL_SOCKET_BAD;
    }
  }
  transfer.dialled_ = true;
  return transfer.sockets_.open(*address);
}

// Before the request is sent: what waits at a kept connection is no answer to it. Under TLS that
// may also be a ticket that came late; then a connection more is made than had to be.
int OriginTransfer::on_connected(void* self, char*, char*, int, int local_port) noexcept {
  auto& transfer = *static_cast<OriginTransfer*>(self);
  if (transfer.dialled_ || !transfer.sockets_.is_spoilt(local_port)) return CURL_PREREQFUNC_OK;
  transfer.spoilt_ = true;
  return CURL_PREREQFUNC_ABORT;
}

bool OriginTransfer::connects_anew() noexcept {
  if (!std::exchange(spoilt_, false)) return false;
  error_text_[0] = '\0';
  return set(CURLOPT_FRESH_CONNECT, 1L);
}

FetchError OriginTransfer::failure(CURLcode code) const {
  const std::string_view text =
      error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
  return fetch_error(kind_of(code, head_), text);
}

Fetched<std::variant<Original, Redirect>> OriginTransfer::original() {
  Original original;
  describe(head_, original);
  if (**meaning_ == AnswerMeaning::kNotModified) {
    original.not_modified = true;
    return original;
  }
  if (unpacker_ && !unpacker_->ended()) {
    return fail_fetch(FetchErrorKind::kTruncated, "its gzip does not end");
  }
  auto bytes = body_.take();
  if (!bytes) return fail_fetch(bytes.error());
  original.bytes = bytes->bytes;
  original.keeper = std::move(bytes->keeper);
  return original;
}

Fetched<std::variant<Original, Redirect>> OriginTransfer::take_result(CURLcode code) {
  if (fault_) return tl::unexpected(std::move(*fault_));
  if (meaning_ && !*meaning_) return tl::unexpected(std::move(meaning_->error()));
  if (meaning_ && **meaning_ == AnswerMeaning::kRedirect) {
    return Redirect{head_.location};
  }
  const bool answered = meaning_ && **meaning_ == AnswerMeaning::kNotModified;
  if (code == CURLE_OK && !meaning_) return fail_fetch(FetchErrorKind::kBadAnswer, "no head");
  if (code == CURLE_OK || answered) return original();
  if (refused_address_ && code == CURLE_COULDNT_CONNECT) {
    return fail_fetch(FetchErrorKind::kAddressNotAllowed,
                      "the address that was to be dialled is none that is accepted");
  }
  return tl::unexpected(failure(code));
}

}  // namespace framewire::service::source
