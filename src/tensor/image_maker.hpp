// One image of a batch on the CPU: from bytes to elements.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <jpeg/types.hpp>
#include <span>
#include <tensor/tensor_writer.hpp>
#include <tensor/workspace.hpp>

namespace framewire::tensor {

/// Parses all of a file and checks that it can be decoded.
[[nodiscard]] Result<jpeg::JpegFile> read_file(std::span<const std::uint8_t> bytes,
                                               const Limits& limits, base::Deadline deadline);

/// What TensorDecoder::image() says of an image, without the decoder's warnings.
[[nodiscard]] TensorImage describe(jpeg::JpegFile& file, const ImageGeometry& geometry);

/// Thread-safe; each thread has a workspace of its own.
class ImageMaker {
 public:
  /// @param options  checked
  explicit ImageMaker(const TensorOptions& options) : options_(options), writer_(options) {}

  [[nodiscard]] const TensorWriter& writer() const noexcept { return writer_; }

  /// @param out  host, the image's elements; holds anything where it fails
  [[nodiscard]] Result<TensorImage> make(const TensorItem& item, void* out,
                                         Workspace& workspace) const;

 private:
  [[nodiscard]] Result<TensorImage> make_image(const TensorItem& item, void* out,
                                               Workspace& workspace) const;

  TensorOptions options_;
  TensorWriter writer_;
};

}  // namespace framewire::tensor
