// Where originals come from: files below one folder, http and https origins, and object stores.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <service/source/settings.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace framewire::service::source {

struct Network;

/// Why there is no original. Names are stable: they appear in logs and metrics.
enum class FetchErrorKind : std::uint8_t {
  kNotFound,           ///< no such object or file, or one that is not served: a folder, a FIFO…
  kSchemeNotAllowed,   ///< neither a file, http(s) nor s3, or switched off; also of a redirect
  kSourceNotAllowed,   ///< not in allowed_sources, also of a redirect; or the bucket is not allowed
  kAddressNotAllowed,  ///< the origin's address is none that AddressPolicy permits
  kBadUrl,             ///< not a URL that all parsers read alike
  kResolve,            ///< the host's name has no address
  kConnect,            ///< no connection, or it broke before an answer came
  kTls,                ///< no handshake, or a certificate that is not the host's
  kTooManyRedirects,   ///< more than SourceSettings::max_redirects
  kBadRedirect,        ///< a redirect without a Location that can be read
  kStore,         ///< the object store cannot be reached, redirects, or answers what makes no sense
  kOriginStatus,  ///< the origin answered neither 200, a whole 206, nor a 304 that was asked for
  kBadAnswer,     ///< not HTTP, more header than is read, or contradicting lengths
  kContentEncoding,  ///< compressed in another way than gzip
  kTruncated,        ///< the connection ended before the body did
  kTooLarge,         ///< more than max_bytes, by its length or while it came
  kTimeout,          ///< one of the settings' times, or the request's, ran out
  kCancelled,        ///< the stop token was asked to stop, or the Sources is being destroyed
  kBusy,             ///< too many fetches wait, or memory ran out; may succeed later
  kIo,               ///< reading failed, or the file changed each time it was read
};

/// The stable word for a kind: "not_found", "scheme_not_allowed", …
[[nodiscard]] std::string_view to_string(FetchErrorKind kind) noexcept;

struct FetchError {
  FetchErrorKind kind = FetchErrorKind::kIo;
  unsigned origin_status = 0;  ///< the origin's own status, of kOriginStatus alone
  /// One line for logs, empty where memory ran out. Not for strangers: it may name addresses and
  /// files of this machine. Printable ASCII, at most 512 bytes.
  std::string message;
};

template <typename T>
using Fetched = tl::expected<T, FetchError>;

/// An original, or word that the one the caller has is still the current one.
struct Original {
  /// Host memory of SourceSettings::allocate (none of it where there are no bytes); empty with
  /// not_modified. What a file or an origin says is not checked: it need not be a JPEG.
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> keeper;  ///< the bytes stay as long as this does
  bool not_modified = false;           ///< a condition of the request held
  bool not_read = false;               ///< FetchRequest::suffices said so; there are no bytes

  /// A file's is strong, made of inode, size, and times of change in ns; empty for a file that
  /// changed in the last 100 ms, whose next change might not show in them. An origin's is as it was
  /// sent. With its quotes; empty where there is none.
  std::string etag;
  std::string last_modified;  ///< an HTTP date, or what the origin sent in its place; may be empty
  std::string content_type;   ///< an origin's word; of a file "image/jpeg" if it begins as one
  std::string cache_control;  ///< an origin's alone
  std::string expires;        ///< an origin's alone
  std::string age;            ///< an origin's alone: seconds for which a cache there has had it
  std::string vary;           ///< an origin's alone
  std::string url;            ///< what was fetched in the end, behind all redirects, normalised
  unsigned redirects = 0;
};

/// Clients for whom a fetch is. More may ask for the same while it waits; it counts for the one
/// that holds fewest places, so that nobody makes it later by asking as well. Client 0 is nobody in
/// particular. Thread safety: one thread at a time calls add(), any thread for_each().
class Askers {
 public:
  /// Of more clients than kMaxClients those that come last are not kept: the fetch is not theirs.
  void add(std::uint64_t client) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
      if (clients_[i].load(std::memory_order_relaxed) == client) return;
    }
    if (count == kMaxClients) return;
    clients_[count].store(client, std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_release);
  }
  /// Calls with each of them.
  template <typename Call>
  void for_each(const Call& call) const {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) call(clients_[i].load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::size_t kMaxClients = 4;
  std::array<std::atomic<std::uint64_t>, kMaxClients> clients_{};
  std::atomic<std::size_t> count_{0};
};
using AskedBy = std::shared_ptr<const Askers>;

/// Calls with each client for whom a fetch is; with 0 where none is named.
template <typename Call>
void for_each_client(const AskedBy& askers, const Call& call) {
  if (askers == nullptr) return call(0);
  askers->for_each(call);
}

struct FetchRequest {
  /// `http://…`, `https://…`, `s3://bucket/key`, `local:///path`, or a bare path below
  /// SourceSettings::root; at most 8,192 bytes. As the URL grammar gives it: already decoded once.
  /// Of files and keys every byte is taken literally, so `%`, `?` and `#` are characters of the
  /// name; but ObjectSettings::version_separator ends a key.
  std::string url;
  /// The caller holds the original of this ETag (one, with its quotes) or this date. Where it is
  /// still the current one, the answer is not_modified. As in HTTP, the date means nothing where
  /// there is an ETag. Values that no header may hold are taken for empty.
  std::string if_none_match;
  std::string if_modified_since;
  std::size_t max_bytes = 0;  ///< lowers SourceSettings::max_bytes; 0: as the settings say
  std::chrono::milliseconds timeout{0};  ///< lowers download_timeout; 0: as the settings say
  /// For files alone: called on a thread of the module's once the file is found and described, and
  /// before it is read. True: the caller has what it needs of this very file, which is not read.
  /// May block as long as reading the file might; what it throws is answered kBusy. May be empty.
  std::function<bool(const Original&)> suffices;
  /// Called on a thread of the module's before memory is taken for the body, and as it comes. False
  /// ends the fetch as kBusy. Must not throw; be quick. May be empty.
  /// @param held_bytes  that the body would hold with it
  /// @param arrived_bytes  of the body, unpacked
  std::function<bool(std::size_t held_bytes, std::size_t arrived_bytes)> may_hold;
  /// Among fetches that wait for a connection, or for a thread to look a name up, those go first
  /// whose client holds fewest; and one client leaves some to others (held_places.hpp).
  AskedBy client;
  /// Gives the fetch up; it is answered kCancelled: at once if it is an origin's, within about a
  /// second if it is an object's, else between two reads of the file, or when its turn comes.
  std::stop_token stop;
};

/// Called once, on a thread of the module: be quick, never wait for a fetch. What it throws is
/// ignored.
using FetchDone = std::function<void(Fetched<Original>)>;

/// Fetches originals. One event loop for all origins, and a few threads each for names, files and
/// objects.
///
/// Equal fetches under way are each done: whoever wants them shared, shares them.
/// Thread safety: fetch() may be called from any number of threads at once.
class Sources {
 public:
  /// Opens the root and starts the threads.
  /// Looks for an object store's credentials, which may take seconds.
  /// @return invalid_input for an allowed source, a bound or a text that cannot be, with its name;
  ///         io_error for a root that is no folder; busy where threads or memory ran out; of an
  ///         object store as store::open_reader()
  [[nodiscard]] static Result<Sources> make(SourceSettings settings);
  /// The same with another resolver, or other addresses to dial: for tests (network.hpp).
  [[nodiscard]] static Result<Sources> make(SourceSettings settings, Network network);
  /// Answers what is under way with kCancelled, then ends; waits for a name that is being looked
  /// up, a few seconds at most, and for the file system to answer.
  ~Sources();
  Sources(Sources&&) noexcept;
  Sources& operator=(Sources&&) noexcept;
  /// Does now what the end does. Only the end may follow.
  void close() noexcept;

  /// Begins to fetch an original. Never blocks, and never calls `done` before it returns on the
  /// calling thread.
  /// @return kBusy, and nothing else, where too many fetches wait or memory ran out: `done` is not
  ///         called then. All other errors come by `done`
  [[nodiscard]] Fetched<void> fetch(FetchRequest request, FetchDone done);

 private:
  class Impl;
  explicit Sources(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::service::source
