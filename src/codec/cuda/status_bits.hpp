// Why an image has no output.
#pragma once

#include <cstdint>

namespace framewire::codec::cuda {

/// Bits of the stages' `status` and of ImageResult::status.
enum StatusBit : std::uint32_t {
  kNeverSynchronised = 1,  ///< states still disagreed after all rounds
  kBadCode = 2,            ///< bits that are no code, or a run beyond the block
  kTruncated = 4,          ///< fewer blocks than the frame has, or the input ends with the data
  kExtraneous = 8,         ///< bytes left over, or restart markers out of place
  kTooLarge = 16,          ///< the output outgrew its share of the buffer
  kFillBytes = 32,         ///< besides kTruncated: where the data seemed to end lies FF FF
  kAfterScan = 64,         ///< something lies between the scan and the file's EOI
};

}  // namespace framewire::codec::cuda
