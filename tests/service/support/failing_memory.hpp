// Memory that runs out at a moment of the test's choice, in the module's threads alone. Where it is
// linked, each allocation changes errno.
#pragma once

namespace framewire::service::test {

/// As long as it lives, the n-th allocation by operator new fails with std::bad_alloc, counted over
/// threads whose name begins with "fw-" and the one that made it. One at a time.
class FailingMemory {
 public:
  explicit FailingMemory(long n);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  /// Whether the n-th allocation came.
  [[nodiscard]] bool failed() const;
  /// How many came; at most n.
  [[nodiscard]] long allocations() const;

 private:
  const long n_;
};

}  // namespace framewire::service::test
