#include <base/queue_deadline.hpp>
#include <engine/answers.hpp>
#include <string>
#include <utility>

namespace framewire::engine {

void Answers::add(WorkPtr work, Result<Resized> result) noexcept {
  work->flow = nullptr;
  if (work->epoch != epoch_) flush();
  epoch_ = work->epoch;
  if (!result) ++failures_;
  // An answer to what comes of a long queue is to tell it from one to a picture that takes long.
  if (!result && base::is_plain_deadline(result.error()) && waited_too_long(*work)) {
    (void)std::move(result.error()).about(std::string(base::kQueueSubject));
  }
  if (work->completions != nullptr) {
    if (queue_ != work->completions) flush();
    queue_ = std::move(work->completions);
    work->completion.front().result = std::move(result);
    completions_.splice(completions_.end(), work->completion);
  } else {
    try {
      work->done(std::move(result));
    } catch (...) {
      // What a caller's function throws is dropped: the engine has others to serve.
    }
  }
  work.reset();
  // Not before: a flush lets all go that are counted.
  if (++count_ == kGroup) flush();
}

void Answers::flush() noexcept {
  if (queue_ != nullptr) {
    queue_->put(std::move(completions_));
    completions_.clear();
    queue_.reset();
  }
  if (count_ != 0) admission_.leave(std::exchange(count_, 0), 0, epoch_);
}

}  // namespace framewire::engine
