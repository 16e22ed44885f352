// A shard that lies somewhere: in a file, or in an object store.
#pragma once

#include <cstdint>
#include <dataset/tar/bytes_at.hpp>
#include <framewire/batch/source.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <utility>

namespace framewire::dataset {

/// An open shard. read_at() and lost() may be called by any number of threads at once.
class ShardInput : public tar::BytesAt {
 public:
  /// What is known of a shard before it is read.
  struct Facts {
    std::string path;  ///< as opened, or "s3://BUCKET/KEY"
    std::uint64_t bytes = 0;
    std::int64_t mtime_ns = 0;
    std::string version;                            ///< an ETag; empty for files
    std::optional<batch::Permissions> permissions;  ///< unset: anybody may read it
  };
  [[nodiscard]] const Facts& facts() const noexcept { return facts_; }
  [[nodiscard]] const std::string& path() const noexcept { return facts_.path; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return facts_.bytes; }

  /// The thread that walks through the members has come to `offset`: what follows will be read.
  virtual void read_ahead(std::uint64_t offset) noexcept = 0;
  /// What lies before `offset` will not be read any more. Any thread.
  virtual void release_before(std::uint64_t offset) noexcept = 0;
  /// Why nothing more can be had of the whole shard: then it is not to be written, since what is
  /// missing is no fault of a member. Nothing while that is not known.
  [[nodiscard]] virtual std::optional<Status> lost() const = 0;

 protected:
  explicit ShardInput(Facts facts) : facts_(std::move(facts)) {}

 private:
  const Facts facts_;
};

}  // namespace framewire::dataset
