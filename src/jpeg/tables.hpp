// The table slots of a decoder as DQT, DHT, DAC and DRI fill them (T.81 B.2.4).
#pragma once

#include <array>
#include <cstddef>
#include <framewire/status.hpp>
#include <jpeg/huffman.hpp>
#include <jpeg/types.hpp>
#include <jpeg/walker.hpp>

namespace framewire::jpeg {

inline constexpr std::size_t kTableSlots = 4;  ///< of each kind of table (T.81 B.2.4)

/// The definition now in one slot.
template <typename Table>
struct TableSlot {
  bool defined = false;
  std::size_t offset = 0;  ///< of the defining marker
  int index = -1;          ///< in the vector of JpegFile, once something uses it
  Table table;
};

struct TableState {
  std::array<TableSlot<QuantTable>, kTableSlots> quant;
  std::array<TableSlot<HuffmanTable>, kTableSlots> dc;
  std::array<TableSlot<HuffmanTable>, kTableSlots> ac;
  ArithmeticConditioning conditioning;
  std::int32_t restart_interval_mcus = 0;
};

/// Applies one segment. What libjpeg checks when a table is used, read_scan() checks there.
/// @return invalid_input for a slot above 3, a wrong length, or values beyond the segment
[[nodiscard]] Result<void> read_dqt(const MarkerView& segment, TableState& tables);
[[nodiscard]] Result<void> read_dht(const MarkerView& segment, TableState& tables);
[[nodiscard]] Result<void> read_dac(const MarkerView& segment, TableState& tables);
[[nodiscard]] Result<void> read_dri(const MarkerView& segment, TableState& tables);

}  // namespace framewire::jpeg
