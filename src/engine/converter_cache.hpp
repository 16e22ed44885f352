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
  /// Bytes of all entries; at most kMaxBytes, and one converter more.
  [[nodiscard]] std::size_t held_bytes();

  /// Files of one kind need a handful of converters; a profile may have megabytes.
  static constexpr std::size_t kMaxEntries = 8;
  static constexpr std::size_t kMaxBytes = 32u << 20;

 private:
  struct Entry {
    jpeg::ColorModel input;
    plan::OutputModel output;
    bool adobe;
    std::vector<std::uint8_t> icc;  ///< empty: none used
    std::shared_ptr<const color::Converter> converter;
  };
  static std::size_t held_bytes_of(const std::vector<Entry>& entries);

  std::mutex mutex_;
  std::vector<Entry> entries_;  ///< least recently used first
};

}  // namespace framewire::engine
