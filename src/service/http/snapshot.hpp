// The settings that hold now, with what is made of them. A reload replaces them as a whole.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <service/http/answer_cache.hpp>
#include <service/http/fallback_image.hpp>
#include <service/http/settings.hpp>
#include <service/pictures/picture_engine.hpp>
#include <service/source/network.hpp>
#include <service/source/sources.hpp>
#include <service/url/grammar.hpp>
#include <string>
#include <vector>

namespace framewire::service::http {

/// Never changed once made. A request keeps the snapshot that it began with until it has been
/// answered.
struct Snapshot {
  std::uint64_t generation = 0;  ///< requests of different generations share no computation
  ServiceSettings settings;
  url::Grammar grammar;
  std::shared_ptr<source::Sources> sources;  ///< null: no originals are served
  std::optional<FallbackImage> fallback;     ///< none: errors are told
  std::unique_ptr<const AnswerCache> cache;  ///< null: there is none
  /// Which folder --folder led to when `sources` was made; empty: to none.
  std::string folder_identity;
  std::string options_json;  ///< which all answers to GET /v1/options share
};
using SnapshotRef = std::shared_ptr<const Snapshot>;

/// Makes snapshots, and lets those go that no request needs any more.
///
/// The end of a Sources waits for its threads, and must not come on one of them. So this object
/// holds a reference to every snapshot, which is the last one.
///
/// Thread safety: reap() and current() from any thread; make() and publish() one at a time.
class Snapshots {
 public:
  /// @param engine   gives memory for originals; outlives this
  /// @param network  for tests; null: the system's
  Snapshots(PictureEngine& engine, const source::Network* network)
      : engine_(engine), network_(network) {}

  /// For snapshots made from now on. @param disk  null: none; outlives them
  void use_cache(cache::DiskCache* disk) { disk_ = disk; }

  /// Makes what the settings ask for and changes nothing. Sources are shared with the current
  /// snapshot where their settings are the same, and name the same folder.
  /// @return invalid_input for settings of URLs or sources that make no sense; io_error for a
  ///         folder that is none, or a file that cannot be read; busy where threads or memory ran
  ///         out, or requests of too many earlier settings are still under way
  [[nodiscard]] Result<SnapshotRef> make(const ServiceSettings& settings);
  /// From now on current(). @throws std::bad_alloc, and nothing has changed then
  void publish(SnapshotRef snapshot);
  /// Null before the first publish().
  [[nodiscard]] SnapshotRef current() const;

  /// Ends snapshots that nobody holds. May wait for the threads of their sources, some seconds at
  /// most. @return whether some are left
  bool reap() noexcept;
  /// Gives up all fetches, of current and earlier settings. No fetch may be begun any more.
  void close();

 private:
  PictureEngine& engine_;
  const source::Network* const network_;
  cache::DiskCache* disk_ = nullptr;
  mutable std::mutex mutex_;
  SnapshotRef current_;
  std::vector<SnapshotRef> retired_;
  std::uint64_t next_generation_ = 1;
};

/// Names of settings that are the same in both, while the file or folder that they name is another.
[[nodiscard]] std::vector<std::string> changed_contents(const Snapshot& before,
                                                        const Snapshot& after);

/// The same snapshot under a count of references of its own, so that threads that take it for each
/// request do not write to one place. @throws std::bad_alloc
[[nodiscard]] SnapshotRef with_own_count(SnapshotRef snapshot);

}  // namespace framewire::service::http
