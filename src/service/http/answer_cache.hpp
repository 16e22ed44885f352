// Answers to URLs in the cache on disk: under which keys, and as which bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <service/cache/disk_cache.hpp>
#include <service/http/settings.hpp>
#include <service/source/sources.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::http {

struct ImageComputation;
struct ImageOutcome;

/// What is remembered of a URL of an origin's: which original there was, and until when that needs
/// no asking.
struct SourceRecord {
  std::string final_url;  ///< behind redirects
  std::string etag;
  std::string last_modified;
  std::string cache_control;
  std::string expires;
  std::string vary;
  bool redirected = false;         ///< whether there were any
  std::int64_t fresh_until_s = 0;  ///< since 1970
  std::int64_t made_s = 0;  ///< since 1970: when the origin gave its word, less the word's own Age
};

[[nodiscard]] std::string to_bytes(const SourceRecord& record);
[[nodiscard]] std::optional<SourceRecord> read_source_record(std::span<const std::uint8_t> bytes);

/// What an entry says of an answer besides its bytes.
[[nodiscard]] std::string describe_answer(const ImageOutcome& outcome);
/// @return false where these are no such bytes; `outcome` may have changed then
[[nodiscard]] bool read_answer(std::span<const std::uint8_t> bytes, ImageOutcome& outcome);

/// The settings of the cache on disk, as these settings have it.
[[nodiscard]] cache::CacheSettings cache_settings(const ServiceSettings& settings);

/// Keys name all that an answer depends on: the URL of its source, which original that is (ETag or
/// Last-Modified, and the URL behind redirects), the options, the version, and those settings of
/// the server that decide about originals. An entry under such a key never becomes wrong.
/// Thread safety: all members from any thread. Nothing throws: where memory runs out, nothing is
/// found or kept.
class AnswerCache {
 public:
  /// @param disk  outlives this
  AnswerCache(const ServiceSettings& settings, cache::DiskCache& disk);

  /// Runs a task that may block on the disk. False where that cannot be.
  [[nodiscard]] bool run(std::function<void()> task) const noexcept {
    return disk_.run(std::move(task));
  }

  // These block on the disk.
  [[nodiscard]] std::optional<SourceRecord> find_source(
      const ImageComputation& wanted) const noexcept;
  /// The answer from this original: bytes, size and codec. The rest of the outcome is the caller's.
  [[nodiscard]] std::optional<ImageOutcome> find_answer(
      const ImageComputation& wanted, const SourceRecord& original) const noexcept;

  // These do not.
  /// What an origin has said of an original that has come, or is unchanged.
  /// @param before  what was known of it; fields that a 304 leaves out are taken from there
  [[nodiscard]] static SourceRecord word_of(const source::Original& original,
                                            const SourceRecord* before = nullptr);
  /// What is worth remembering of an original that has come, or of word that it is unchanged.
  /// @param remote  of an origin; a file has its ETag, or nothing
  /// @param before  as word_of()
  /// @return nothing where no shared cache may keep it, or nothing tells it from others
  [[nodiscard]] std::optional<SourceRecord> record_of(const source::Original& original, bool remote,
                                                      const SourceRecord* before = nullptr) const;
  /// @param remote  of an origin: its record is kept, too
  void keep(const ImageComputation& made, const SourceRecord& original, bool remote) const noexcept;
  void keep_source(const ImageComputation& made, const SourceRecord& original) const noexcept;
  /// Removes the record of an original, and this answer from it.
  void forget(const ImageComputation& made, const SourceRecord& original) const noexcept;

 private:
  [[nodiscard]] std::optional<cache::Key> source_key(const ImageComputation& wanted) const;
  [[nodiscard]] std::optional<cache::Key> answer_key(const ImageComputation& wanted,
                                                     const SourceRecord& original) const;

  const std::int64_t max_age_s_;
  const std::int64_t unsaid_s_;
  const std::string policy_;  ///< the server's part of every key
  cache::DiskCache& disk_;
};

}  // namespace framewire::service::http
