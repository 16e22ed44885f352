// All fetches from origins, on one thread.
#pragma once

#include <curl/curl.h>
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <service/source/allowed_sources.hpp>
#include <service/source/held_places.hpp>
#include <service/source/job.hpp>
#include <service/source/network.hpp>
#include <service/source/resolver.hpp>
#include <service/source/transfer.hpp>
#include <thread>

namespace framewire::service::source {

/// An event loop over libcurl's multi handle. A fetch waits for one of its origin's connections and
/// one of all, looks its host's name up, and is transferred. Each hop of a redirect is judged as
/// the first was: scheme, allowed sources, address. It goes on at once, unless it leads to an
/// origin where others wait or there is no connection; there it waits, in front of its client's
/// others.
///
/// Lists hand their elements on without allocating, so that memory that runs out costs one fetch.
/// Thread safety: submit() and answer() from any number of threads.
class OriginLoop {
 public:
  OriginLoop(const SourceSettings& settings, const AllowedSources& allowed, const Network& network,
             Budget& budget);
  /// Answers everything with kCancelled.
  ~OriginLoop();
  OriginLoop(const OriginLoop&) = delete;
  OriginLoop& operator=(const OriginLoop&) = delete;
  /// @return false where threads or memory ran out
  [[nodiscard]] bool start();

  /// @param job  moved from, unless it is refused
  /// @return false where SourceSettings::connections + SourceSettings::waiting fetches are
  /// unanswered, or memory
  ///         ran out
  [[nodiscard]] bool submit(FetchJob& job) noexcept;

 private:
  /// Asks the loop to look for cancelled fetches.
  struct Notice {
    OriginLoop* loop;
    void operator()() const noexcept;
  };
  struct Fetch {
    FetchJob job;
    std::optional<std::stop_callback<Notice>> on_stop;
    std::string origin;            ///< of job.url
    bool connected = false;        ///< holds one of its origin's connections
    std::uint64_t counted_as = 0;  ///< the client that holds it
    base::Clock::time_point dial_deadline;
    std::shared_ptr<Lookup> lookup;
    std::unique_ptr<OriginTransfer> transfer;
    unsigned redirects = 0;
    std::list<Fetch>::iterator self;  ///< its place in whichever list it is in

    explicit Fetch(FetchJob&& taken) : job(std::move(taken)) {}
  };
  using Fetches = std::list<Fetch>;
  struct FreeMulti {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };

  void run() noexcept;
  void turn() noexcept;
  void wake() noexcept { curl_multi_wakeup(multi_.get()); }
  void accept_new() noexcept;
  void start_waiting() noexcept;
  void transfer_some() noexcept;
  void take_lookups() noexcept;
  void take_transfers() noexcept;
  void drop_late(Fetches& list, base::Clock::time_point now) noexcept;
  [[nodiscard]] int poll_ms() const noexcept;

  void take_connection(Fetch& fetch);
  [[nodiscard]] bool has_room(const std::string& origin, std::uint64_t client) const;
  /// @return the end where none may begin
  [[nodiscard]] Fetches::iterator next_waiting();
  void give_connection_back(Fetch& fetch) noexcept;
  [[nodiscard]] Fetched<void> judge(const SourceUrl& url) const;
  [[nodiscard]] Fetched<void> begin(Fetches::iterator fetch);
  void begin_or_answer(Fetches::iterator fetch) noexcept;
  [[nodiscard]] Fetched<void> transfer(Fetches::iterator fetch,
                                       std::span<const IpAddress> addresses);
  [[nodiscard]] Fetched<std::vector<IpAddress>> permitted(const Lookup& lookup) const;
  void answer_or_follow(Fetches::iterator fetch, CURLcode code) noexcept;
  [[nodiscard]] Fetched<void> follow(Fetches::iterator fetch, const Redirect& redirect);
  /// Answers, and forgets, a fetch of one of the lists.
  void answer(Fetches& list, Fetches::iterator fetch, Fetched<Original> result) noexcept;
  void cancel_all(Fetches& list) noexcept;

  const SourceSettings& settings_;
  const AllowedSources& allowed_;
  const Network& network_;
  Budget& budget_;
  store::s3::KeptSockets sockets_;  ///< of multi_, which closes them
  std::unique_ptr<CURLM, FreeMulti> multi_;

  std::mutex mutex_;
  Fetches inbox_;  ///< under mutex_
  std::atomic<std::size_t> unanswered_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> look_for_cancelled_ = false;

  // The loop's own.
  Fetches waiting_;
  Fetches resolving_;
  Fetches active_;
  std::map<std::string, HeldPlaces, std::less<>> connections_;
  HeldPlaces all_connections_;
  bool may_start_ = false;  ///< something waits that did not before, or a connection is free
  bool unpacks_ = false;    ///< some transfer has more to unpack without anything that comes
  base::Clock::time_point next_look_;

  Resolver resolver_;
  std::thread thread_;
};

}  // namespace framewire::service::source
