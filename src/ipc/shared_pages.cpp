#include <ipc/shared_pages.hpp>
#include <utility>

namespace framewire::ipc {

Result<SharedPages> SharedPages::make(const AreaSizes& sizes) {
  const auto layout = Layout::make(sizes);
  if (!layout) return fail(layout.error());
  auto memory = transport::shared::SealedMemory::make(layout->total);
  if (!memory) return fail(memory.error());
  SharedPages pages;
  pages.layout_ = *layout;
  pages.memory_ = std::move(*memory);
  pages.control().magic = ControlBlock::kMagic;
  return pages;
}

Result<SharedPages> SharedPages::open(const base::FileDescriptor& file, const AreaSizes& sizes) {
  const auto layout = Layout::make(sizes);
  if (!layout) return fail(layout.error());
  auto memory = transport::shared::SealedMemory::open(file, layout->total, true);
  if (!memory) return fail(memory.error());
  SharedPages pages;
  pages.layout_ = *layout;
  pages.memory_ = std::move(*memory);
  if (pages.control().magic != ControlBlock::kMagic) {
    return fail(StatusCode::kInvalidInput,
                "what the server hands over is no memory of Framewire's");
  }
  return pages;
}

RingMemory<Submission> SharedPages::submissions() const noexcept {
  return {&control().submitted, &control().taken,
          at<RingMemory<Submission>::Words>(layout_.submissions), layout_.submissions_count()};
}

RingMemory<CompletionEntry> SharedPages::completions() const noexcept {
  return {&control().completed, &control().received,
          at<RingMemory<CompletionEntry>::Words>(layout_.completions), layout_.sizes.slots};
}

std::span<char> SharedPages::options(std::uint32_t slot) const noexcept {
  return {at<char>(layout_.options + slot * kMaxOptionsBytes), kMaxOptionsBytes};
}

std::span<std::byte> SharedPages::report(std::uint32_t slot) const noexcept {
  return {at<std::byte>(layout_.reports + slot * kReportBytes), kReportBytes};
}

}  // namespace framewire::ipc
