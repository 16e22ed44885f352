// A few threads that read files, since that blocks.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <service/source/body.hpp>
#include <service/source/file_root.hpp>
#include <service/source/job.hpp>
#include <thread>
#include <vector>

namespace framewire::service::source {

/// Thread safety: submit() from any number of threads.
class FilePool {
 public:
  FilePool(const SourceSettings& settings, Budget& budget, FileRoot root);
  /// Answers what waits with kCancelled, and waits for what is being read.
  ~FilePool();
  /// @return false where no thread could be started
  [[nodiscard]] bool start(unsigned threads);

  /// @param job  moved from, unless it is refused
  /// @return false where SourceSettings::waiting wait already, or memory ran out
  [[nodiscard]] bool submit(FetchJob& job) noexcept;

 private:
  void run() noexcept;
  [[nodiscard]] Fetched<Original> read(const FetchJob& job) noexcept;

  const SourceSettings& settings_;
  Budget& budget_;
  FileRoot root_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<FetchJob> queue_;
  std::stop_source ending_;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::service::source
