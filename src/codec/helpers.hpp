// Threads that lend a hand with one image.
#pragma once

#include <cstddef>

namespace framewire::codec {

/// One image's work that several threads can do parts of.
class SharedWork {
 public:
  SharedWork() = default;
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Does parts of the work as long as there are any and Helpers::wanted_elsewhere() is false.
  /// Several threads may call it at once. Never allocates.
  virtual void help() noexcept = 0;

 protected:
  ~SharedWork() = default;
};

/// Who may call SharedWork::help() beside the thread that the work belongs to. The result of the
/// work never depends on whether, when and how many threads come. Thread-safe.
class Helpers {
 public:
  Helpers() = default;
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// How many threads would come now, at most; 0: not worth preparing anything for them.
  [[nodiscard]] virtual std::size_t idle() const noexcept = 0;
  /// Asks up to `most` idle threads to help with `work`. Does not wait for them.
  virtual void invite(SharedWork& work, std::size_t most) noexcept = 0;
  /// Waits until no thread is in work.help(), and none will be.
  virtual void dismiss(SharedWork& work) noexcept = 0;
  /// Whether helping threads should return, since there is other work for them.
  [[nodiscard]] virtual bool wanted_elsewhere() const noexcept = 0;

 protected:
  ~Helpers() = default;
};

}  // namespace framewire::codec
