#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <new>
#include <transport/session/failures.hpp>
#include <utility>

namespace framewire::transport::session {

void Failures::add(Status status, base::Clock::time_point now) noexcept {
  const double passed_s = last_ ? std::chrono::duration<double>(now - *last_).count() : 0;
  allowance_ = std::min<double>(kBurst, allowance_ + passed_s);
  last_ = now;
  if (allowance_ < 1 || told_.size() >= kBurst) {
    ++untold_;
    return;
  }
  try {
    told_.push_back(std::move(status));
    allowance_ -= 1;
  } catch (const std::bad_alloc&) {
    ++untold_;
  }
}

std::optional<Status> Failures::take() {
  if (told_.empty()) return std::nullopt;
  Status status = std::move(told_.front());
  told_.pop_front();
  const auto untold = std::exchange(untold_, 0);
  if (untold == 0) return status;
  return Status(status.code(), fmt::format("{} (and {} more connections came to nothing)",
                                           status.message(), untold));
}

}  // namespace framewire::transport::session
