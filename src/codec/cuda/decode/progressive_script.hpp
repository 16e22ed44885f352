// Which progressive files the device decodes: those with nothing to complain about so far.
#pragma once

#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <string>

namespace framewire::codec::cuda {

/// Whether a scan of a progressive file sends DC for the first time.
[[nodiscard]] inline bool is_first_dc(const jpeg::Scan& scan) noexcept {
  return scan.spectral_start == 0 && scan.approx_high == 0;
}

/// Looks for what the kernels do not take: scripts that do not send every bit of every coefficient
/// once and in order (T.81 G.1.1.1), chains longer than kMaxChainBytes and kMaxChainBlocks, and
/// whatever libjpeg would warn about. The file must have been parsed whole.
/// @return what it has, behind "progressive files "; empty where the device takes the file
[[nodiscard]] std::string find_progressive_fault(const jpeg::JpegFile& file);

}  // namespace framewire::codec::cuda
