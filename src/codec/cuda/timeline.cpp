#include <codec/cuda/timeline.hpp>
#include <utility>

namespace framewire::codec::cuda {

std::string_view to_string(Stage stage) noexcept {
  constexpr std::array<std::string_view, kStageCount> kNames{
      "copy in",  "unstuff", "synchronise",    "offsets",  "write",        "dc",      "ac",
      "assemble", "inverse", "filter weights", "resample", "post process", "forward", "encode",
      "search",   "pack"};
  return kNames[static_cast<std::size_t>(stage)];
}

Result<Timeline> Timeline::make(bool timed) {
  Timeline timeline;
  for (std::size_t i = 0; timed && i < kMaxMarks; ++i) {
    auto event = gpu::Event::make();
    if (!event) return fail(event.error());
    timeline.marks_.push_back({Stage::kCount, std::move(*event)});
  }
  return timeline;
}

void Timeline::begin(const gpu::Stream& stream) {
  if (marks_.empty()) return;
  (void)marks_[0].event.record(stream);
  used_ = 1;
}

void Timeline::end(Stage stage, const gpu::Stream& stream) {
  if (used_ == marks_.size()) return;
  Mark& mark = marks_[used_++];
  mark.stage = stage;
  (void)mark.event.record(stream);
}

Result<std::array<double, kStageCount>> Timeline::stage_us() const {
  std::array<double, kStageCount> times{};
  for (std::size_t i = 1; i < used_; ++i) {
    auto time = gpu::Event::elapsed_us(marks_[i - 1].event, marks_[i].event);
    if (!time) return fail(time.error());
    times[static_cast<std::size_t>(marks_[i].stage)] += *time;
  }
  return times;
}

}  // namespace framewire::codec::cuda
