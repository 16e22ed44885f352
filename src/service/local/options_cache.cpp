#include <algorithm>
#include <ipc/options_text.hpp>
#include <iterator>
#include <service/local/options_cache.hpp>

namespace framewire::service::local {

Result<const ResizeOptions*> OptionsCache::find(std::string_view text) {
  const auto found = std::ranges::find(entries_, text, &Entry::text);
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front().options;
  }
  const auto options = ipc::parse_options(text);
  if (!options) return fail(options.error());
  entries_.push_front({std::string(text), *options});
  if (entries_.size() > kMaxEntries) entries_.pop_back();
  return &entries_.front().options;
}

}  // namespace framewire::service::local
