// Answers requests, several with one wake-up of whoever waits for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <engine/admission.hpp>
#include <engine/work.hpp>
#include <list>
#include <memory>

namespace framewire::engine {

/// Calls callbacks at once. Completion queues, and submitters that wait for room, learn of up to
/// kGroup answers together. For one thread.
class Answers {
 public:
  /// @param failures  counts answers that are errors
  Answers(Admission& admission, std::atomic<std::uint64_t>& failures)
      : admission_(admission), failures_(failures) {}
  ~Answers() { flush(); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  void add(WorkPtr work, Result<Resized> result) noexcept;
  void flush() noexcept;

 private:
  static constexpr std::size_t kGroup = 32;

  Admission& admission_;
  std::atomic<std::uint64_t>& failures_;
  std::shared_ptr<CompletionQueue> queue_;  ///< that `completions_` are for
  std::list<Completion> completions_;
  std::size_t count_ = 0;       ///< answers since the last flush
  Admission::Epoch epoch_ = 0;  ///< in which their requests were admitted
};

}  // namespace framewire::engine
