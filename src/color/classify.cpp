#include <color/converter.hpp>
#include <color/profile_tags.hpp>

namespace framewire::color {

ProfileUse classify_profile(const jpeg::JpegFile& file) {
  if (file.icc.empty()) return ProfileUse::kNone;
  auto reduced = reduce_profile(file.icc);
  if (!reduced) return ProfileUse::kUnusable;
  return ProfileConversion(std::move(*reduced), device_channels(file.color_model)).use();
}

}  // namespace framewire::color
