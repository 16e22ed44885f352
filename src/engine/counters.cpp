#include <algorithm>
#include <engine/counters.hpp>

namespace framewire::engine {

void Counters::add_stages(const std::vector<StageTotal>& stages) {
  const std::lock_guard lock(mutex_);
  if (stages_.empty()) {
    stages_ = stages;
    return;
  }
  for (std::size_t i = 0; i < std::min(stages.size(), stages_.size()); ++i) {
    stages_[i].us += stages[i].us;
  }
}

void Counters::read(EngineStats& stats) const {
  stats.gpu_images = gpu_images;
  stats.host_images = host_images;
  stats.fallbacks = fallbacks;
  stats.failures = failures;
  stats.batches = batches;
  const std::lock_guard lock(mutex_);
  stats.stages = stages_;
}

}  // namespace framewire::engine
