#include <algorithm>
#include <base/start_thread.hpp>
#include <store/s3/credential_keeper.hpp>

namespace framewire::store::s3 {

namespace {

// Servers name years that a clock of nanoseconds cannot count: all is compared in seconds.
SystemTime now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

CredentialKeeper::CredentialKeeper(S3Credentials first, RenewCredentials renew, Times times)
    : renew_(std::move(renew)), times_(times), credentials_(std::move(first)) {}

Result<void> CredentialKeeper::start() {
  if (!renew_ || !credentials_.expires) return {};
  auto started = base::start_thread("fw-credentials", [this] { run(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

CredentialKeeper::~CredentialKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<S3Credentials> CredentialKeeper::current() {
  const std::lock_guard lock(mutex_);
  if (!credentials_.expires || *credentials_.expires > now_in_seconds()) return credentials_;
  return fail(StatusCode::kDenied,
              "the credentials have ended" +
                  (failure_.empty() ? std::string() : " and were not renewed: " + failure_));
}

void CredentialKeeper::renew_soon() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
}

SystemTime CredentialKeeper::next_renewal() const {
  if (!credentials_.expires) return SystemTime::max();
  return *credentials_.expires - std::chrono::ceil<std::chrono::seconds>(times_.before_end);
}

void CredentialKeeper::renew_now(std::unique_lock<std::mutex>& lock) noexcept {
  std::optional<S3Credentials> renewed;
  std::string failure;
  lock.unlock();
  try {
    auto answer = renew_();
    if (answer) {
      renewed = *std::move(answer);
    } else {
      failure = answer.error().to_string();
    }
  } catch (const std::exception&) {
    failure = "memory ran out";  // so short that it needs none
  }
  lock.lock();
  if (renewed) credentials_ = *std::move(renewed);
  failure_ = std::move(failure);
}

void CredentialKeeper::run() noexcept {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const SystemTime due = next_renewal();
    const SystemTime now = now_in_seconds();
    // The clock may be set meanwhile: it is looked at each minute.
    const SystemTime until = std::clamp<SystemTime>(due, now, now + std::chrono::minutes(1));
    wake_.wait_until(lock, until, [this] { return ending_ || asked_; });
    if (ending_) return;
    if (!asked_ && now_in_seconds() < due) continue;
    asked_ = false;
    renew_now(lock);
    wake_.wait_for(lock, times_.between, [this] { return ending_; });
  }
}

}  // namespace framewire::store::s3
