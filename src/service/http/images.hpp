// Pictures by URL: which original, what to make of it, and one computation for equal requests.
#pragma once

#include <cstdint>
#include <framewire/engine.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <service/http/etag.hpp>
#include <service/http/exchange.hpp>
#include <service/http/io_thread.hpp>
#include <service/http/response.hpp>
#include <service/source/network.hpp>
#include <service/source/sources.hpp>
#include <service/url/grammar.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace framewire::service::http {

/// What came of a computation; the same for all that waited for it, and never changed.
struct ImageOutcome {
  /// Of an error; `word` is empty where there is none.
  Code code = Code::kOk;
  std::string word;
  std::string message;   ///< for the client
  std::string log_line;  ///< for the log alone: may name addresses and files

  bool not_modified = false;
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> keeper;
  bool is_jpeg = true;
  std::optional<Report> report;  ///< none for an original that is handed on unread
  std::string etag;
  std::string last_modified;
  std::string cache_control;  ///< the origin's
  std::string expires;        ///< the origin's
  std::uint64_t source_bytes = 0;
  std::int32_t source_width_px = 0;   ///< upright; only where debug headers are wanted
  std::int32_t source_height_px = 0;  ///< upright
  double fetch_ms = 0;
  double work_ms = 0;  ///< in the engine, waiting included
};

/// Everything that equal requests share. Belongs to the thread that began it; `waiters` and
/// `finished` are under the lock of Images.
struct ImageComputation {
  struct Waiter {
    std::shared_ptr<Exchange> exchange;
    IoThread* io = nullptr;
  };

  std::string key;
  std::string source_url;
  ResizeOptions options;
  EtagRecipe recipe;
  std::string if_none_match;  ///< as the original has it
  std::string if_modified_since;
  bool as_it_is = false;  ///< raw, or skip_processing
  IoThread* io = nullptr;
  Admission::Ticket ticket;
  std::stop_source stop{};
  std::chrono::steady_clock::time_point begun{};
  std::chrono::steady_clock::time_point fetched{};
  source::Original original;
  ImageOutcome outcome;  ///< while it is being made

  std::vector<Waiter> waiters;
  std::size_t interested = 0;  ///< waiters that have not gone
  bool finished = false;
};

/// Thread safety: begin() from any I/O thread.
class Images {
 public:
  /// @param network  for tests; null: the system's
  /// @return invalid_input for settings of URLs or sources that make no sense
  [[nodiscard]] static Result<std::unique_ptr<Images>> make(const Settings& settings,
                                                            Engine& engine,
                                                            const source::Network* network);
  /// Gives up all fetches; begin() may not be called any more. Computations may still end.
  void close() { sources_.reset(); }

  /// Reads the URL and begins, or joins, the computation.
  /// @param io  the caller's thread
  /// @return an answer where there is nothing to wait for
  [[nodiscard]] std::optional<Response> begin(const std::shared_ptr<Exchange>& exchange,
                                              IoThread& io, Client client);

 private:
  using Computation = std::shared_ptr<ImageComputation>;

  Images(const Settings& settings, url::Grammar grammar, source::Sources sources);
  [[nodiscard]] std::optional<Response> interpret(Exchange& exchange, ImageComputation& wanted);
  [[nodiscard]] bool join(const Computation& wanted, const std::shared_ptr<Exchange>& exchange,
                          IoThread& io);
  [[nodiscard]] std::optional<Response> fetch(const Computation& computation);
  void on_original(const Computation& computation, source::Fetched<source::Original> original);
  void measure(ImageComputation& computation) const;
  void hand_on(const Computation& computation);
  void on_picture(const Computation& computation, Result<Resized> result);
  void fail_with(const Computation& computation, Code code, std::string_view word,
                 std::string_view message, std::string_view log_line = {});
  void finish(const Computation& computation) noexcept;
  void leave(const std::weak_ptr<ImageComputation>& computation) noexcept;
  void forget(const ImageComputation& computation) noexcept;

  const Settings& settings_;
  url::Grammar grammar_;
  std::mutex mutex_;
  std::unordered_map<std::string, Computation> computations_;  ///< not finished, by key
  std::optional<source::Sources> sources_;                     ///< last: its end calls back
};

/// The answer to one of those who waited.
[[nodiscard]] Response image_response(Exchange& exchange, const ImageOutcome& outcome,
                                      const Settings& settings);

}  // namespace framewire::service::http
