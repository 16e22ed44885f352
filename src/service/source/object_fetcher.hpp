// Originals that are objects of an object store.
#pragma once

#include <atomic>
#include <memory>
#include <service/source/body.hpp>
#include <service/source/job.hpp>
#include <service/source/network.hpp>
#include <store/object_reader.hpp>

namespace framewire::service::source {

/// Whether the settings let the bucket's objects be fetched.
[[nodiscard]] bool permits_bucket(const ObjectSettings& settings, const std::string& bucket);

/// Thread safety: submit() from any number of threads.
class ObjectFetcher {
 public:
  /// @param settings, budget  outlive it
  /// @return as store::open_reader(), and invalid_input for a name that no bucket can have
  [[nodiscard]] static Result<std::unique_ptr<ObjectFetcher>> make(const SourceSettings& settings,
                                                                   const Network& network,
                                                                   Budget& budget);
  /// Answers what is under way with kCancelled.
  ~ObjectFetcher();
  ObjectFetcher(const ObjectFetcher&) = delete;
  ObjectFetcher& operator=(const ObjectFetcher&) = delete;

  /// @param job  of an object that may be fetched; moved from, unless it is refused
  /// @return kBusy where ObjectSettings::in_flight are under way, or memory ran out; kBadUrl for a
  ///         bucket that has no place at the endpoint
  [[nodiscard]] Fetched<void> submit(FetchJob& job) noexcept;

 private:
  ObjectFetcher(const SourceSettings& settings, Budget& budget) noexcept
      : settings_(settings), budget_(budget) {}

  const SourceSettings& settings_;
  Budget& budget_;
  std::atomic<unsigned> under_way_ = 0;
  std::unique_ptr<store::ObjectReader> reader_;
};

}  // namespace framewire::service::source
