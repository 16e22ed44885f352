// The rows of a batch, in an object store.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <dataset/object_outputs.hpp>
#include <framewire/batch/manifest.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::dataset {

/// How rows are kept.
struct ObjectManifestOptions {
  ObjectPrefix where;   ///< parts lie below it, and nothing else
  bool resume = false;  ///< parts that are there are read; otherwise there must be none
  /// A row waits no longer than that for others, where rows come.
  std::chrono::milliseconds wait{10'000};
  std::size_t part_bytes = 4u << 20;  ///< a part is stored once it is so large
};

/// Stores cannot append: rows are stored in parts, objects of their own that are never replaced.
/// Any number of processes may use one prefix. The rows of the last `wait` are lost with a process
/// that is killed, and their inputs are done again. Memory: two parts; of earlier rows what
/// batch::DoneIndex says, and while they are read 16 parts.
class ObjectManifest final : public batch::Manifest {
 public:
  /// @return invalid_input where there are parts and `resume` is not set; too_large; what the store
  ///         says
  [[nodiscard]] static Result<std::unique_ptr<ObjectManifest>> open(
      const ObjectManifestOptions& options);
  /// Without finish(), what has not been stored is lost.
  ~ObjectManifest() override;

  /// May store a part, for which one thread waits. @return also what came of an earlier part
  [[nodiscard]] Result<void> append(const batch::Row& row) override;
  [[nodiscard]] const batch::DoneIndex* done() const noexcept override {
    return done_ ? &*done_ : nullptr;
  }
  /// Stores what has not been. After the run.
  [[nodiscard]] Result<void> finish();

 private:
  using Clock = std::chrono::steady_clock;
  ObjectManifest(const ObjectManifestOptions& options, std::string run);
  struct Earlier {
    batch::DoneIndex done;
    std::uint64_t latest_us = 0;  ///< when the last process began that named a part
  };
  [[nodiscard]] static Result<Earlier> read_parts(const ObjectManifestOptions& options);
  /// Puts what is collected; gives the lock up meanwhile.
  [[nodiscard]] Result<void> store_part(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Result<void> put_part(std::uint64_t number, std::string_view rows) noexcept;

  const ObjectManifestOptions options_;
  const std::string run_;  ///< what names of this process' parts begin with
  std::optional<batch::DoneIndex> done_;

  std::mutex mutex_;
  std::condition_variable stored_;
  std::string rows_;          ///< not stored
  Clock::time_point oldest_;  ///< when the first of rows_ came
  std::uint64_t parts_ = 0;   ///< stored, or being so
  bool storing_ = false;      ///< by one thread at a time
  std::optional<Status> failure_;
};

}  // namespace framewire::dataset
