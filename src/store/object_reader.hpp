// Whole objects of any bucket of one store, as they come, for many callers at once.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <store/environment.hpp>
#include <store/object_store.hpp>
#include <store/retry.hpp>
#include <string>

namespace framewire::store {

/// What the server says of an object, as it came; empty where it says nothing.
struct ObjectHead {
  std::optional<std::uint64_t> bytes;  ///< of the body, as it is sent
  std::string etag;                    ///< with its quotes
  std::string last_modified;
  std::string content_type;
  /// What was stored compressed is sent so, whatever is asked for: the sink unpacks or refuses it.
  /// All codings, in order, but identity.
  std::string content_encoding;
  std::string cache_control;
  std::string expires;
};

/// Takes one object. An error of either member ends the reading with that error.
class BodySink {
 public:
  BodySink() = default;
  BodySink(const BodySink&) = delete;
  BodySink& operator=(const BodySink&) = delete;
  virtual ~BodySink() = default;

  /// The object follows, from its first byte, as it is stored. Called again where an attempt failed
  /// and another begins: what came before is void.
  [[nodiscard]] virtual Result<void> begin(const ObjectHead& head) = 0;
  /// @return whether that was all that is to be done with them now. If not, the loop goes on with
  ///         others before it calls begin_turn(), and brings all of these bytes again, in as many
  ///         pieces as it likes, whatever of them has been taken.
  [[nodiscard]] virtual Result<bool> append(std::span<const std::uint8_t> bytes) = 0;
  /// The bytes come again of which append() has left some.
  virtual void begin_turn() noexcept {}
};

/// Which object, under which conditions.
struct ObjectQuery {
  std::string bucket;
  std::string key;
  std::string version;  ///< as the store names it; empty: the newest
  /// Of header lines: printable ASCII. Empty: no such condition.
  std::string if_none_match;
  std::string if_modified_since;
  /// No attempt begins, and none goes on, behind it.
  base::Clock::time_point deadline = base::Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> cancelled;  ///< looked at once a second; may be empty
};

/// The answer of the server that decided.
struct ObjectAnswer {
  unsigned status = 0;  ///< 200: the sink has all of the object. 304: a condition held
  ObjectHead head;
  std::optional<Status> why;  ///< of any other status; never a secret
};

/// Thread safety: start().
class ObjectReader {
 public:
  ObjectReader() = default;
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;
  /// Ends what is under way as cancelled.
  virtual ~ObjectReader() = default;

  /// Called once by a thread of the reader's: be quick. Errors besides the sink's own: io_error,
  /// deadline, busy, denied for credentials that ended, cancelled.
  using Done = std::function<void(Result<ObjectAnswer>)>;
  /// Begins to read an object in one request, which is repeated as StoreSettings says. Does not
  /// wait. Any number may be under way.
  /// @param sink  kept until `done` is called
  /// @return invalid_input for a bucket that has no place at the endpoint; `done` is not called
  /// then
  [[nodiscard]] virtual Result<void> start(ObjectQuery query, std::shared_ptr<BodySink> sink,
                                           Done done) = 0;
};

/// Finds endpoint, region and credentials, once for all buckets; nothing is sent to the store.
/// @param environment  where settings are looked for that are not given
/// @return as open_store()
[[nodiscard]] Result<std::unique_ptr<ObjectReader>> open_reader(
    const StoreSettings& settings, const StoreTiming& timing, const EnvironmentLookup& environment);

}  // namespace framewire::store
