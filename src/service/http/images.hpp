// Pictures by URL: which original, what to make of it, and one computation for equal requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <framewire/engine.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <service/http/answer_cache.hpp>
#include <service/http/etag.hpp>
#include <service/http/exchange.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/response.hpp>
#include <service/http/snapshot.hpp>
#include <service/source/sources.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace framewire::service::http {

/// What came of a computation; the same for all that waited for it, and never changed.
struct ImageOutcome {
  /// What went wrong; `word` is empty where nothing did.
  Code code = Code::kOk;
  std::string word;
  std::string message;   ///< for the client
  std::string log_line;  ///< for the log alone: may name addresses and files

  /// Where the fallback was made in an original's place: its status, and why, for the log.
  Code fallback_code = Code::kOk;
  bool is_fallback = false;
  bool not_modified = false;
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> keeper;
  bool is_jpeg = true;
  std::optional<Report> report;  ///< none for an original that is handed on unread
  std::string etag;
  std::string last_modified;
  std::string cache_control;  ///< the origin's
  std::string expires;        ///< the origin's
  std::int64_t made_s = 0;    ///< SourceRecord::made_s
  bool from_cache = false;    ///< on disk
  std::uint64_t source_bytes = 0;
  std::int32_t source_width_px = 0;   ///< upright; only where debug headers are wanted
  std::int32_t source_height_px = 0;  ///< upright
  std::string_view cache_status;      ///< of Cache-Status (RFC 9211); static storage; may be empty
  double fetch_ms = 0;
  double work_ms = 0;  ///< in the engine, waiting included
};

/// Everything that equal requests share. Belongs to the thread that began it; `waiters`,
/// `first_waiting` and `answered` are under the lock of Images.
struct ImageComputation {
  struct Waiter {
    std::shared_ptr<Exchange> exchange;
    IoThread* io = nullptr;
    ClientKey client;
  };

  SnapshotRef snapshot;  ///< that it began under
  std::string key;
  std::string source_url;
  ResizeOptions options;
  EtagRecipe recipe;
  KnownOriginal client_original;  ///< that If-None-Match speaks of
  std::string if_modified_since;
  bool as_it_is = false;  ///< raw, or skip_processing
  IoThread* io = nullptr;
  ClientAdmission::Ticket ticket;  ///< under `charging`
  ClientKey charged;  ///< whose share it counts in until the answer; under the lock of Images
  std::stop_source stop{};
  std::chrono::steady_clock::time_point begun{};
  std::chrono::steady_clock::time_point fetched{};
  source::Askers asked_by;  ///< FetchRequest::client; under Images' lock where it changes
  source::Original original;
  ImageOutcome outcome;  ///< while it is being made

  // What the cache knows; all empty where there is none.
  std::string canonical;               ///< the options, in one spelling
  std::optional<SourceRecord> record;  ///< of the original, as it was known last
  std::optional<ImageOutcome> cached;  ///< the answer from that original
  bool falls_back = false;             ///< the fallback is made, the original having failed
  bool remote = false;                 ///< the source is an origin's
  bool revalidates = false;            ///< the origin is asked whether `record` still holds

  // Of the fetch: its memory counts as it comes, on a thread of the sources'.
  bool fetching = false;
  std::atomic<std::uint64_t> arrived_bytes{0};
  std::mutex charging;                              ///< of the ticket, and of what follows
  std::uint64_t held_bytes = 0;                     ///< that the ticket counts
  std::optional<ClientAdmission::Verdict> refused;  ///< why no more of it is taken
  std::list<ClientKey> recipients;                  ///< of each AnswerRecipient

  struct EngineRound;                  ///< images_engine.cpp
  std::shared_ptr<EngineRound> round;  ///< once the original is there; under the lock of Images

  std::vector<Waiter> waiters;
  std::size_t first_waiting = 0;  ///< all waiters before this one have gone
  std::size_t interested = 0;     ///< waiters that have not gone
  bool answered = false;
};

/// One of those who are sent an answer that equal requests share; keeps the answer's bytes. They
/// are there once, and count once: in the share of the first of those who still have one of these.
/// Thread safety: each on any thread.
class AnswerRecipient {
 public:
  /// @param answered  the ticket counts the answer. Throws std::bad_alloc
  AnswerRecipient(std::shared_ptr<ImageComputation> answered, ClientKey client);
  ~AnswerRecipient();
  AnswerRecipient(const AnswerRecipient&) = delete;
  AnswerRecipient& operator=(const AnswerRecipient&) = delete;

 private:
  void charge_first() noexcept;

  std::shared_ptr<ImageComputation> computation_;
  std::list<ClientKey>::iterator place_;
};

/// Whether nobody waits there any more.
[[nodiscard]] inline bool has_gone(const ImageComputation::Waiter& waiter) noexcept {
  return waiter.exchange->stop.stop_requested();
}

/// Thread safety: begin() from any I/O thread.
class Images {
 public:
  /// Reads the URL and begins, or joins, the computation.
  /// @param exchange  its snapshot has sources
  /// @param io        the caller's thread
  /// @return an answer where there is nothing to wait for
  [[nodiscard]] std::optional<Response> begin(const std::shared_ptr<Exchange>& exchange,
                                              IoThread& io, ClientKey client);

  using Computation = std::shared_ptr<ImageComputation>;
  /// An original on its way, for a client that has more than its share while others are refused.
  struct SlowFetch {
    Computation computation;
    ClientKey client;
    double bytes_per_second = 0;
  };
  /// Requests that the engine may have beside those that are admitted.
  static constexpr std::size_t kMaxExtraRequests = 1024;
  /// The slowest one that this thread began. @param io  the caller's thread
  [[nodiscard]] std::optional<SlowFetch> slowest_fetch(IoThread& io,
                                                       std::chrono::steady_clock::time_point now);
  /// Ends it, or charges it to another address that waits for it. On that thread.
  void give_way(const SlowFetch& fetch) noexcept;

 private:
  [[nodiscard]] static std::optional<Response> interpret(Exchange& exchange,
                                                         ImageComputation& wanted);
  [[nodiscard]] std::optional<ClientAdmission::Verdict> join(
      const Computation& wanted, const std::shared_ptr<Exchange>& exchange, IoThread& io,
      ClientKey client);
  void fetch(const Computation& computation);
  void on_original(const Computation& computation, source::Fetched<source::Original> original);
  static void measure(ImageComputation& computation);
  void hand_on(const Computation& computation);
  void on_picture(const Computation& computation, Result<Resized> result);
  // In the engine's queue: images_engine.cpp.
  using Round = std::shared_ptr<ImageComputation::EngineRound>;
  void hand_in(const Computation& computation);
  void hand_in_for(const Computation& computation, const Round& round, ClientKey client);
  [[nodiscard]] static bool add_client(ImageComputation::EngineRound& round,
                                       ClientKey client) noexcept;
  void on_answer(const Computation& computation, ImageComputation::EngineRound& round,
                 Result<Resized> result);
  void stop(ImageComputation& computation) noexcept;
  [[nodiscard]] bool fall_back(const Computation& computation, Code code, std::string_view why);
  // With the cache: images_cache.cpp.
  void look_up(const Computation& computation);
  void read_cache(ImageComputation& computation) noexcept;
  void on_looked_up(const Computation& computation);
  [[nodiscard]] bool suffices(ImageComputation& computation, const source::Original& file) noexcept;
  [[nodiscard]] bool answer_from_cache(const Computation& computation);
  [[nodiscard]] bool fetch_unconditionally(const Computation& computation);
  void take_cached(ImageComputation& computation, std::string_view status);
  void keep_answer(ImageComputation& computation) noexcept;
  void fail_with(const Computation& computation, Code code, std::string_view word,
                 std::string_view message, std::string_view log_line = {});
  [[nodiscard]] ClientAdmission::Verdict charge(const Computation& computation, std::uint64_t bytes,
                                                std::uint64_t pixels);
  [[nodiscard]] ClientAdmission::Verdict charge_another(const Computation& computation,
                                                        std::uint64_t bytes, std::uint64_t pixels);
  [[nodiscard]] bool may_hold(const Computation& computation, std::size_t held_bytes,
                              std::size_t arrived_bytes) noexcept;
  [[nodiscard]] std::optional<ClientKey> refuse_share(const Computation& computation);
  [[nodiscard]] bool is_charged(const ImageComputation& computation, ClientKey client) noexcept;
  static void charge_who_waits(ImageComputation& computation) noexcept;
  void answer_waiters(const Computation& computation) noexcept;
  static void answer_one(const Computation& computation,
                         const ImageComputation::Waiter& waiter) noexcept;
  void leave(const std::weak_ptr<ImageComputation>& computation) noexcept;
  void forget(const ImageComputation& computation) noexcept;

  std::mutex mutex_;
  std::unordered_map<std::string, Computation> computations_;  ///< not answered, by key
  std::atomic<std::size_t> extra_requests_{0};
};

/// The answer to one of those who waited.
[[nodiscard]] Response image_response(Exchange& exchange, const ImageOutcome& outcome,
                                      const ServiceSettings& settings);

}  // namespace framewire::service::http
