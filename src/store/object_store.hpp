// Objects under keys, as S3 and what speaks its protocol keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::store {

/// One object, as it was when it was asked about.
struct ObjectInfo {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag;           ///< changes with the content; without quotes
  std::int64_t mtime_ns = 0;  ///< since 1970, by the server's clock
  std::string mark{};         ///< as ObjectUpload::mark(), from find() alone; empty: none
};

/// An object with its bytes.
struct WholeObject {
  ObjectInfo info;
  std::vector<std::uint8_t> bytes;
};

/// What a write asks of what lies under its key.
enum class PutCondition : std::uint8_t {
  kNone,      ///< it is replaced
  kIfAbsent,  ///< there is nothing: of several writers one wins
};
/// What came of a write.
enum class PutOutcome : std::uint8_t {
  kStored,
  kExists,  ///< kIfAbsent and replace() alone: somebody was first, and nothing was changed
};

/// An object on its way, whole or not at all: nothing is seen of it before complete(). One thread.
class ObjectUpload {
 public:
  ObjectUpload() = default;
  ObjectUpload(const ObjectUpload&) = delete;
  ObjectUpload& operator=(const ObjectUpload&) = delete;
  /// Gives up what was not completed, and what the server keeps of it.
  virtual ~ObjectUpload() = default;

  /// Before append(): a text that is kept with the object, and that find() tells. Visible ASCII, up
  /// to 256 bytes.
  virtual void mark(std::string /*text*/) {}
  /// Adds bytes; they are copied. Waits while more parts are in flight than the store's settings
  /// allow. @return any error, also of parts that were given before
  [[nodiscard]] virtual Result<void> append(std::span<const std::uint8_t> bytes) = 0;
  /// Waits for all parts, then makes the object known. May be called again after kExists.
  [[nodiscard]] virtual Result<PutOutcome> complete(PutCondition condition) = 0;
  /// The same as ObjectStore::replace(). @param etag  of the version that is replaced
  [[nodiscard]] virtual Result<PutOutcome> replace(const std::string& etag) = 0;
  /// After kStored: the object's ETag; empty where the server gave none.
  [[nodiscard]] virtual std::string etag() const { return {}; }
};

/// One bucket. All members may be called by any number of threads at once; they wait for the
/// server, with retries of what may be retried, and never longer than the store's deadlines allow.
/// Errors name the object as "s3://BUCKET/KEY" and never hold a secret: denied for credentials that
/// the server refuses, busy where it stays overloaded, io_error for what the network or the server
/// did, invalid_input where an object changed while it was read, deadline.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  /// "s3://BUCKET/KEY", for messages.
  [[nodiscard]] virtual std::string label(std::string_view key) const = 0;

  /// @return nothing where there is no such object
  [[nodiscard]] virtual Result<std::optional<ObjectInfo>> find(const std::string& key) = 0;

  /// Objects whose keys begin with `prefix`, in the order of their keys' bytes, after the key
  /// `after` where that is not empty. Memory: one page of the listing.
  /// @param take  called by this thread; returns false to end the listing
  [[nodiscard]] virtual Result<void> list(const std::string& prefix, const std::string& after,
                                          const std::function<bool(const ObjectInfo&)>& take) = 0;

  /// Reads from `offset` on, of that version of the object alone (its ETag).
  /// @return how many bytes came: less than asked for only at the end of the object
  [[nodiscard]] virtual Result<std::size_t> read_at(const ObjectInfo& object, std::uint64_t offset,
                                                    std::span<std::uint8_t> into) = 0;
  using Done = std::function<void(Result<std::size_t>)>;
  /// The same without waiting. @param into  is written to until `done` is called, once, by a
  /// thread of the store's: be quick, and do not call the store from it
  virtual void start_read(const ObjectInfo& object, std::uint64_t offset,
                          std::span<std::uint8_t> into, Done done) = 0;

  /// Finds an object and reads all of it. Memory: its bytes.
  /// @return nothing where there is no such object; too_large above `max_bytes`
  [[nodiscard]] virtual Result<std::optional<WholeObject>> read_whole(const std::string& key,
                                                                      std::uint64_t max_bytes);

  /// Stores bytes under a key in one request. @param bytes  stays until the return
  [[nodiscard]] virtual Result<PutOutcome> put(const std::string& key,
                                               std::span<const std::uint8_t> bytes,
                                               PutCondition condition) = 0;
  /// Stores bytes in the place of that version of an object alone (its ETag). A store that does not
  /// look at the condition replaces whatever is there.
  /// @return kExists where another version is there, or nothing; unsupported where the store
  ///         refuses the condition, and nothing was changed
  [[nodiscard]] virtual Result<PutOutcome> replace(const ObjectInfo& seen,
                                                   std::span<const std::uint8_t> bytes) = 0;
  /// Begins an object of any size. Nothing is sent before there is a part of it.
  [[nodiscard]] virtual Result<std::unique_ptr<ObjectUpload>> upload(const std::string& key) = 0;

  /// Deletes an object; one that is not there is deleted already.
  [[nodiscard]] virtual Result<void> remove(const std::string& key) = 0;
};

/// Where a store is and how it is spoken to. What is empty is looked for where the AWS tools look:
/// the environment, the shared configuration and credentials files, web identity, the container's
/// and the instance's metadata services.
struct StoreSettings {
  std::string endpoint;            ///< "http://127.0.0.1:9000"; empty: AWS, by region
  std::string region;              ///< empty: as configured, otherwise us-east-1
  std::string profile;             ///< of the shared files
  std::optional<bool> path_style;  ///< bucket in the path; unset: where an endpoint is given
  unsigned reads_in_flight = 64;   ///< ranges at once
  unsigned parts_in_flight = 4;    ///< of each upload
  unsigned attempts = 5;           ///< of a request that may be retried
};

/// "s3://BUCKET/KEY". The key may be empty, or end in '/': a prefix. Of "https://HOST/PATH?QUERY"
/// the bucket is "https://HOST", and the key "PATH?QUERY", as it is written.
struct ObjectUrl {
  std::string bucket;
  std::string key;
};
/// Whether text begins with "s3://".
[[nodiscard]] bool is_object_url(std::string_view text) noexcept;
/// Whether text begins with "http://" or "https://": what is there can only be read.
[[nodiscard]] bool is_web_url(std::string_view text) noexcept;
/// Either.
[[nodiscard]] bool is_remote_url(std::string_view text) noexcept;
/// A URL of a web server without its query, which may be a signature; any other text as it is.
[[nodiscard]] std::string_view without_query(std::string_view url) noexcept;
/// @return invalid_input for a name that no bucket can have, and for keys over 1,024 bytes; of web
///         servers for addresses with a user, a fragment, spaces or control characters, and over
///         8,192 bytes
[[nodiscard]] Result<ObjectUrl> parse_object_url(std::string_view text);

/// Opens a bucket; nothing is sent yet, but credentials are looked for. "https://HOST" opens what a
/// web server has, without credentials: find(), read_at(), start_read() and read_whole() work, all
/// else is unsupported, and of the settings reads_in_flight and attempts count.
/// @return invalid_input for settings, denied where there are no credentials
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_store(const std::string& bucket,
                                                              const StoreSettings& settings);

}  // namespace framewire::store
