// Quantisers of all qualities, for the search for a size.
#pragma once

#include <cstdint>
#include <vector>

namespace framewire::codec::cuda {

struct AllQualityTables {
  std::vector<float> reciprocals;        ///< [101 qualities][2][64] natural order
  std::vector<std::uint8_t> quantisers;  ///< [101 qualities][2][64] zig-zag order
};
/// The tables; made at the first call.
[[nodiscard]] const AllQualityTables& all_quality_tables();

}  // namespace framewire::codec::cuda
