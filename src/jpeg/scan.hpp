// The scan header, checked against the frame and the tables in force (T.81 B.2.3, G.1.1.1).
#pragma once

#include <array>
#include <framewire/status.hpp>
#include <jpeg/tables.hpp>
#include <jpeg/types.hpp>
#include <jpeg/walker.hpp>

namespace framewire::jpeg {

/// Point transform up to which earlier scans have sent each coefficient; −1: not at all.
struct ScanProgress {
  ScanProgress() {
    for (auto& component : low_bit) component.fill(-1);
  }
  std::array<std::array<std::int8_t, kBlockSize>, kMaxComponents> low_bit;
};

/// Reads SOS, moves the tables that it uses into `file`, and latches quantisers of components
/// whose first scan this is. Refuses what libjpeg refuses: unknown or disordered components, more
/// than 10 blocks in an MCU, missing or invalid tables, impossible progressive parameters. Warns
/// where libjpeg warns: progressive scans out of order, odd parameters of sequential scans.
/// @return invalid_input at the segment; what `file` got before stays valid
[[nodiscard]] Result<Scan> read_scan(const MarkerView& segment, TableState& tables,
                                     ScanProgress& progress, JpegFile& file);

}  // namespace framewire::jpeg
