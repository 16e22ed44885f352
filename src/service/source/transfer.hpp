// One request to one origin, by libcurl: the options that keep it to what was judged.
#pragma once

#include <curl/curl.h>
#include <memory>
#include <optional>
#include <service/source/answer_meaning.hpp>
#include <service/source/body.hpp>
#include <service/source/network.hpp>
#include <service/source/source_url.hpp>
#include <span>
#include <store/s3/kept_sockets.hpp>
#include <string>
#include <variant>

namespace framewire::service::source {

/// Where an answer sends us.
struct Redirect {
  std::string location;
};

/// What one request brought. Not copied, and never moved: libcurl calls back into it.
/// Thread safety: one thread at a time, the one that drives the multi handle.
class OriginTransfer {
 public:
  /// @param sockets  of the multi handle, and there as long as that
  OriginTransfer(const SourceSettings& settings, const Network& network,
                 store::s3::KeptSockets& sockets, Budget& budget, const FetchRequest& request,
                 std::size_t max_bytes);
  OriginTransfer(const OriginTransfer&) = delete;
  OriginTransfer& operator=(const OriginTransfer&) = delete;

  /// Sets the request up; the handle must be in no multi handle. May be called again for each hop.
  ///
  /// No other name is looked up than through `addresses`, no proxy, cookie, .netrc, redirect or
  /// protocol of libcurl's is used, and each address is judged again as its socket is made.
  /// @param addresses  of the host's name, permitted; none where the host is an address
  /// @param dial       what is left for connecting, without TLS
  /// @return kBusy where memory ran out
  [[nodiscard]] Fetched<void> prepare(const SourceUrl& url, std::span<const IpAddress> addresses,
                                      std::chrono::milliseconds dial);
  [[nodiscard]] CURL* handle() const noexcept { return easy_.get(); }
  /// Whether nothing was sent, since the kept connection that libcurl chose was of no more use. If
  /// so the request is to be done again as it is, on a new one; the handle is in no multi handle.
  [[nodiscard]] bool connects_anew() noexcept;
  /// Whether the body has more to be unpacked than one turn of the loop is for. Nothing of it is
  /// received until begin_turn().
  [[nodiscard]] bool is_unpacking() const noexcept { return paused_; }
  /// Lets it unpack some more. @return an error where the transfer ends with it, which libcurl does
  /// not tell of again
  [[nodiscard]] CURLcode begin_turn() noexcept;
  /// After libcurl is done with the request.
  [[nodiscard]] Fetched<std::variant<Original, Redirect>> take_result(CURLcode code);

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  };
  struct FreeShare {
    void operator()(CURLSH* share) const noexcept { curl_share_cleanup(share); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, FreeList>;

  static std::size_t on_header(char* data, std::size_t size, std::size_t count,
                               void* self) noexcept;
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static int on_connected(void* self, char* remote_ip, char* local_ip, int remote_port,
                          int local_port) noexcept;
  static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address) noexcept;

  [[nodiscard]] bool header(std::string_view line);
  [[nodiscard]] bool body(std::span<const std::uint8_t> bytes) noexcept;
  [[nodiscard]] Body::Fault unpack(std::span<const std::uint8_t> packed) noexcept;
  [[nodiscard]] bool set_options(const SourceUrl& url, std::chrono::milliseconds dial);
  [[nodiscard]] bool set_headers();
  [[nodiscard]] bool set_addresses(const SourceUrl& url, std::span<const IpAddress> addresses);
  [[nodiscard]] FetchError failure(CURLcode code) const;
  [[nodiscard]] Fetched<std::variant<Original, Redirect>> original();
  template <typename T>
  [[nodiscard]] bool set(CURLoption option, T value) noexcept {
    return curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }

  const SourceSettings& settings_;
  const Network& network_;
  store::s3::KeptSockets& sockets_;
  const FetchRequest& request_;
  bool conditional_ = false;
  // The names that this handle knows, apart from all others'. Outlives the handle that uses it.
  std::unique_ptr<CURLSH, FreeShare> names_;
  List headers_;
  List resolved_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};

  store::HttpAnswerHead head_;
  Body body_;
  std::optional<BodyUnpacker> unpacker_;  ///< where the body is compressed
  std::optional<Fetched<AnswerMeaning>> meaning_;
  std::optional<FetchError> fault_;  ///< why we gave the transfer up
  bool refused_address_ = false;
  bool dialled_ = false;  ///< a connection was made for this request
  bool spoilt_ = false;   ///< the one that was kept is of no use
  std::size_t discarded_ = 0;
  bool paused_ = false;
};

}  // namespace framewire::service::source
