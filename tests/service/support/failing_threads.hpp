// Threads that the system refuses at a moment of the test's choice, to the module alone.
#pragma once

namespace framewire::service::test {

/// Whose threads count.
enum class Starter {
  kModuleOrMaker,  ///< those of threads whose name begins with "fw-", and of the one that made it
  kModule,         ///< only those of threads whose name begins with "fw-"
};

/// As long as it lives, the n-th thread to be started is refused (EAGAIN). One at a time.
class FailingThreads {
 public:
  explicit FailingThreads(long n, Starter counted = Starter::kModuleOrMaker);
  ~FailingThreads();
  FailingThreads(const FailingThreads&) = delete;
  FailingThreads& operator=(const FailingThreads&) = delete;

  /// Whether the n-th thread was asked for.
  [[nodiscard]] bool failed() const;
};

}  // namespace framewire::service::test
