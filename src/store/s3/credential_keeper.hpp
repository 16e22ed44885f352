// Credentials that stay valid: temporary ones are renewed by one thread before they end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <store/signature.hpp>
#include <thread>

namespace framewire::store::s3 {

/// Fetches credentials anew; may take seconds. Empty: those that there are last.
using RenewCredentials = std::function<Result<S3Credentials>()>;

/// Thread safety: all members.
class CredentialKeeper {
 public:
  struct Times {
    std::chrono::milliseconds before_end{300'000};  ///< renewed so long before they end
    std::chrono::milliseconds between{30'000};      ///< from one renewal to the next, at least
  };

  CredentialKeeper(S3Credentials first, RenewCredentials renew, Times times);
  ~CredentialKeeper();
  /// Starts the thread that renews them, where they end and can be.
  /// @return busy where there is none
  [[nodiscard]] Result<void> start();
  CredentialKeeper(const CredentialKeeper&) = delete;
  CredentialKeeper& operator=(const CredentialKeeper&) = delete;

  /// Does not wait. @return denied where they have ended and could not be renewed, with the reason
  [[nodiscard]] Result<S3Credentials> current();
  /// Whether there may be others later.
  [[nodiscard]] bool can_renew() const noexcept { return thread_.joinable(); }
  /// The server finds them expired: they are renewed without waiting for their end.
  void renew_soon();

 private:
  void run() noexcept;
  /// Gives the lock up meanwhile.
  void renew_now(std::unique_lock<std::mutex>& lock) noexcept;
  [[nodiscard]] SystemTime next_renewal() const;

  const RenewCredentials renew_;
  const Times times_;
  std::mutex mutex_;
  std::condition_variable wake_;
  S3Credentials credentials_;
  std::string failure_;  ///< of the last renewal
  bool asked_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace framewire::store::s3
