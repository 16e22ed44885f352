#include <engine/answers.hpp>
#include <utility>

namespace framewire::engine {

void Answers::add(WorkPtr work, Result<Resized> result) noexcept {
  work->flow = nullptr;
  if (!result) ++failures_;
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
  // Not before: a flush lets all go that are counted.
  ++of_generation_[work->generation];
  work.reset();
  if (++count_ == kGroup) flush();
}

void Answers::flush() noexcept {
  if (queue_ != nullptr) {
    queue_->put(std::move(completions_));
    completions_.clear();
    queue_.reset();
  }
  count_ = 0;
  for (Admission::Generation generation = 0; generation < of_generation_.size(); ++generation) {
    const std::size_t left = std::exchange(of_generation_[generation], 0);
    if (left != 0) admission_.leave(left, 0, generation);
  }
}

}  // namespace framewire::engine
