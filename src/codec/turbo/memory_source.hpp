// Feeds libjpeg from memory, a window at a time, with our word for input that ends too early.
#pragma once

#include <codec/turbo/libjpeg.hpp>
#include <span>

namespace framewire::codec::turbo {

/// Where a libjpeg decompressor reads from; must stay where it is while the decompressor lives.
class MemorySource {
 public:
  using Look = void (*)(j_decompress_ptr cinfo);

  /// @param bytes  must outlive the decompressor. Behind them it is given an end of image, with a
  ///               warning
  /// @param look   called for every window of 64 KiB that libjpeg takes; may leave by longjmp().
  ///               libjpeg's own loops over markers never ask whether there is time
  void attach(j_decompress_ptr cinfo, std::span<const std::uint8_t> bytes, Look look);

  /// Lets the decompressor find an end of image next, without a warning.
  static void end(j_decompress_ptr cinfo);

 private:
  static MemorySource& self(j_decompress_ptr cinfo);
  static boolean refill(j_decompress_ptr cinfo);
  static void skip(j_decompress_ptr cinfo, long bytes);

  struct Manager : jpeg_source_mgr {
    MemorySource* owner = nullptr;
  };
  Manager manager_{};
  std::span<const std::uint8_t> rest_;  ///< behind the window that libjpeg has
  Look look_ = nullptr;
};

}  // namespace framewire::codec::turbo
