// Recently used colour converters: building a transform costs as much as a small image.
#pragma once

#include <color/converter.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <mutex>
#include <vector>

namespace framewire::engine {

/// Thread-safe. A converter depends on the profile's bytes, the colour model and the Adobe marker.
class ConverterCache {
 public:
  /// @return as color::Converter::make()
  [[nodiscard]] Result<std::shared_ptr<const color::Converter>> get(const jpeg::JpegFile& file,
                                                                    plan::OutputModel model,
                                                                    bool use_icc);

 private:
  struct Entry {
    jpeg::ColorModel input;
    plan::OutputModel output;
    bool adobe;
    std::vector<std::uint8_t> icc;  ///< empty: none used
    std::shared_ptr<const color::Converter> converter;
  };
  static constexpr std::size_t kCapacity = 8;

  std::mutex mutex_;
  std::vector<Entry> entries_;  ///< oldest first
};

}  // namespace framewire::engine
