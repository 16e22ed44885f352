#include <fmt/format.h>
#include <ipc/entries.hpp>
#include <ipc/layout.hpp>

namespace framewire::ipc {
namespace {

bool is_area(std::uint64_t bytes) {
  return bytes != 0 && bytes <= kMaxAreaBytes && bytes % kPageBytes == 0;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

// Nothing can wrap: each term is far below 2^40.
Result<Layout> Layout::make(const AreaSizes& sizes) {
  if (sizes.slots == 0 || sizes.slots > kMaxSlots || !is_area(sizes.input_bytes) ||
      !is_area(sizes.output_bytes)) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("found {} slots, {} bytes for inputs and {} for outputs; accepted: 1 "
                    "to {} slots, and whole pages of up to {} bytes",
                    sizes.slots, sizes.input_bytes, sizes.output_bytes, kMaxSlots, kMaxAreaBytes));
  }
  Layout layout;
  layout.sizes = sizes;
  const std::size_t slots = sizes.slots;
  layout.submissions = whole_pages(sizeof(ControlBlock));
  layout.completions = layout.submissions + layout.submissions_count() * sizeof(Submission);
  layout.options = whole_pages(layout.completions + slots * sizeof(CompletionEntry));
  layout.reports = layout.options + slots * kMaxOptionsBytes;
  layout.input = whole_pages(layout.reports + slots * kReportBytes);
  layout.output = whole_pages(layout.input + sizes.input_bytes + kInputGuardBytes);
  layout.total = layout.output + sizes.output_bytes;
  return layout;
}

}  // namespace framewire::ipc
