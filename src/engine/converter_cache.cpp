#include <algorithm>
#include <engine/converter_cache.hpp>

namespace framewire::engine {

std::size_t ConverterCache::held_bytes_of(const std::vector<Entry>& entries) {
  std::size_t sum = 0;
  for (const Entry& entry : entries) sum += entry.icc.size() + entry.converter->max_bytes();
  return sum;
}

std::size_t ConverterCache::held_bytes() {
  const std::lock_guard lock(mutex_);
  return held_bytes_of(entries_);
}

Result<std::shared_ptr<const color::Converter>> ConverterCache::get(const jpeg::JpegFile& file,
                                                                    plan::OutputModel model,
                                                                    bool use_icc) {
  const bool adobe = file.adobe_transform.has_value();
  const auto matches = [&](const Entry& e) {
    return e.input == file.color_model && e.output == model && e.adobe == adobe &&
           (use_icc ? e.icc == file.icc : e.icc.empty());
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), matches);
    if (found != entries_.end()) {
      std::rotate(found, found + 1, entries_.end());
      return entries_.back().converter;
    }
  }
  auto made = color::Converter::make(file, model, use_icc);
  if (!made) return fail(made.error());
  auto converter = std::make_shared<const color::Converter>(std::move(*made));
  const std::lock_guard lock(mutex_);
  entries_.push_back({file.color_model, model, adobe,
                      use_icc ? file.icc : std::vector<std::uint8_t>(), converter});
  const auto too_much = [this] {
    return entries_.size() > kMaxEntries || held_bytes_of(entries_) > kMaxBytes;
  };
  while (entries_.size() > 1 && too_much()) entries_.erase(entries_.begin());
  return converter;
}

}  // namespace framewire::engine
