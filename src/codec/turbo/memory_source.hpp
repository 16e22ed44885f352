// Feeds libjpeg from memory, with our word for input that ends too early.
#pragma once

#include <codec/turbo/libjpeg.hpp>
#include <span>

namespace framewire::codec::turbo {

/// Where a libjpeg decompressor reads from; must stay where it is while the decompressor lives.
class MemorySource {
 public:
  /// @param bytes  must outlive the decompressor; behind them it is given an end of image, after a
  ///               warning
  void attach(j_decompress_ptr cinfo, std::span<const std::uint8_t> bytes);

  /// Lets the decompressor find an end of image next, without a warning.
  static void end(j_decompress_ptr cinfo);

 private:
  jpeg_source_mgr manager_{};
};

}  // namespace framewire::codec::turbo
