// Where the command's batches go: memory of the host, or of the decoder's device.
#pragma once

#include <cstdint>
#include <framewire/tensor.hpp>
#include <framewire/transport.hpp>
#include <memory>
#include <span>
#include <vector>

namespace framewire::app {

class TensorBatchMemory {
 public:
  /// Decodes into memory that is kept for the next batch.
  [[nodiscard]] Result<void> decode(TensorDecoder& decoder, std::span<const TensorItem> items);
  /// Begins a batch on the decoder's device. @see TensorDecoder::begin_to_device()
  [[nodiscard]] Result<TensorBatch> begin(TensorDecoder& decoder,
                                          std::span<const TensorItem> items);
  /// The first `bytes` of the last batch, copied from its device where it has one.
  [[nodiscard]] Result<std::span<const std::uint8_t>> read(std::uint64_t bytes);

 private:
  [[nodiscard]] Result<void> reserve_on_device(int device, std::uint64_t bytes);

  std::vector<std::uint8_t> host_;
  transport::Region device_;
};

}  // namespace framewire::app
