#include <algorithm>
#include <ipc/options_text.hpp>
#include <iterator>
#include <service/local/options_cache.hpp>

namespace framewire::service::local {
namespace {

Limits lower(Limits wanted, const Limits& limits) {
  wanted.max_input_bytes = std::min(wanted.max_input_bytes, limits.max_input_bytes);
  wanted.max_input_pixels = std::min(wanted.max_input_pixels, limits.max_input_pixels);
  wanted.max_scans = std::min(wanted.max_scans, limits.max_scans);
  wanted.max_scan_pixels = std::min(wanted.max_scan_pixels, limits.max_scan_pixels);
  wanted.max_output_side_px = std::min(wanted.max_output_side_px, limits.max_output_side_px);
  wanted.max_output_pixels = std::min(wanted.max_output_pixels, limits.max_output_pixels);
  const bool unbounded = wanted.deadline_ms == 0;
  if (limits.deadline_ms != 0 && (unbounded || wanted.deadline_ms > limits.deadline_ms)) {
    wanted.deadline_ms = limits.deadline_ms;
  }
  return wanted;
}

}  // namespace

Result<const ResizeOptions*> OptionsCache::find(std::string_view text) {
  const auto found = std::ranges::find(entries_, text, &Entry::text);
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front().options;
  }
  auto options = ipc::parse_options(text);
  if (!options) return fail(options.error());
  options->limits = lower(options->limits, limits_);
  entries_.push_front({std::string(text), *options});
  if (entries_.size() > kMaxEntries) entries_.pop_back();
  return &entries_.front().options;
}

}  // namespace framewire::service::local
