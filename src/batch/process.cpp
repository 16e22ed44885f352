#include <algorithm>
#include <batch/caught.hpp>
#include <batch/process.hpp>
#include <utility>

namespace framewire::batch {
namespace {

constexpr std::size_t kKeptBytes = 4u << 20;
/// Input that is enough to hand over at once: large images come in smaller groups.
constexpr std::size_t kGroupBytes = 8u << 20;
/// And room for one more. What is larger still goes to memory of its own.
constexpr std::size_t kGroupRoomBytes = kGroupBytes + (4u << 20);
/// What inputs are read to: the kernel copies by `rep movsb`, which takes 63 µs for 320 KB to a
/// cache line's beginning, and 76 to 94 µs elsewhere (AMD EPYC, from tmpfs).
constexpr std::uintptr_t kLineBytes = 64;

// The room from its next cache line on.
std::span<std::uint8_t> aligned(std::span<std::uint8_t> room) {
  const auto begin = reinterpret_cast<std::uintptr_t>(room.data());
  const std::size_t before = (kLineBytes - begin % kLineBytes) % kLineBytes;
  return room.subspan(std::min(before, room.size()));
}

}  // namespace

/// Inputs that are handed over together.
class Pipeline::Group {
 public:
  explicit Group(Pipeline& pipeline)
      : pipeline_(pipeline), context_(pipeline.context_), hooks_(pipeline.hooks_) {}
  ~Group() {
    if (results_) (void)take_results();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Reads the first inputs, as many as make up kGroupBytes. @return how many those are
  std::size_t read(std::span<Input> inputs) {
    inputs_.reserve(inputs.size());
    std::span<std::uint8_t> room = aligned(take_room());
    std::size_t bytes = 0;
    while (inputs_.size() < inputs.size() && bytes < kGroupBytes) {
      inputs_.emplace_back(std::move(inputs[inputs_.size()]), context_, pipeline_.take_buffer());
      if (!inputs_.back().read(room)) continue;
      const std::span<const std::uint8_t> file = inputs_.back().bytes();
      readable_.push_back(&inputs_.back());
      bytes += file.size();
      if (file.data() == room.data()) room = aligned(room.subspan(file.size()));
    }
    return inputs_.size();
  }

  /// Where there is no way to go on meanwhile, the inputs are resized when asked for.
  void hand_over() {
    if (!hooks_.begin_all || readable_.empty()) return;
    std::vector<std::span<const std::uint8_t>> files;
    files.reserve(readable_.size());
    for (const OneInput* input : readable_) files.push_back(input->bytes());
    results_ = hooks_.begin_all(files, context_.settings->options);
  }

  void write() {
    if (results_) {
      write_results();
    } else {
      for (OneInput* input : readable_) resize(*input);
    }
    for (OneInput& input : inputs_) {
      pipeline_.done_(input.take_result());
      pipeline_.keep_buffer(input.take_buffer());
    }
  }

 private:
  Result<std::vector<Result<Resized>>> take_results() {
    return caught([this]() -> Result<std::vector<Result<Resized>>> {
      return std::exchange(results_, nullptr)();
    });
  }

  // Without such memory each file has its own.
  std::span<std::uint8_t> take_room() {
    if (!hooks_.input_memory) return {};
    auto memory = hooks_.input_memory(kGroupRoomBytes);
    if (!memory) return {};
    memory_ = std::move(*memory);
    return memory_.bytes;
  }

  void write_results() {
    const auto results = take_results();
    for (std::size_t i = 0; i < readable_.size(); ++i) {
      readable_[i]->write(results ? (*results)[i] : fail(results.error()));
    }
  }

  void resize(OneInput& input) {
    input.write(caught([&] { return hooks_.resize(input.bytes(), context_.settings->options); }));
  }

  Pipeline& pipeline_;
  const ProcessContext& context_;
  const Hooks& hooks_;
  InputSlice memory_;
  std::vector<OneInput> inputs_;
  std::vector<OneInput*> readable_;
  PendingResults results_;
};

Pipeline::Pipeline(const ProcessContext& context, const Hooks& hooks, Done done)
    : context_(context), hooks_(hooks), done_(std::move(done)) {}

Pipeline::~Pipeline() = default;

std::vector<std::uint8_t> Pipeline::take_buffer() {
  if (buffers_.empty()) return {};
  auto buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

// A batch's memory is that of its images in work, not of the largest that it has met.
void Pipeline::keep_buffer(std::vector<std::uint8_t> buffer) {
  if (buffer.capacity() <= kKeptBytes) buffers_.push_back(std::move(buffer));
}

void Pipeline::add(std::vector<Input> inputs) {
  for (std::span<Input> rest(inputs); !rest.empty();) {
    auto group = std::make_unique<Group>(*this);
    rest = rest.subspan(group->read(rest));
    group->hand_over();
    flush();
    group_ = std::move(group);
    if (!hooks_.begin_all) flush();
  }
}

void Pipeline::flush() {
  if (group_ == nullptr) return;
  group_->write();
  group_.reset();
}

}  // namespace framewire::batch
