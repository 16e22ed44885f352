#include <codec/turbo/entropy_source.hpp>
#include <codec/turbo/whole_scans.hpp>

namespace framewire::codec {

bool scans_are_whole(const jpeg::JpegFile& file, const base::Deadline& deadline) {
  if (!turbo::OwnEntropySource::accepts(file)) return false;
  turbo::OwnEntropySource source(file);
  for (std::int32_t row = 0; row < file.frame.mcu_rows; ++row) {
    if (deadline.passed() || !source.read(nullptr)) return false;
  }
  return source.is_complete();
}

}  // namespace framewire::codec
