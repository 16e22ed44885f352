// Warnings of what libjpeg keeps to itself.
//
// Of a code that no table has, libjpeg warns only within some hundred bytes of the end of its
// buffer; of up to eight bytes behind a scan's last MCU, and of any number behind the only scan of
// a sequential file, not at all.
#pragma once

#include <framewire/image.hpp>
#include <framewire/status.hpp>
#include <vector>

namespace framewire::codec::turbo {

/// What our own entropy decoder found in a file's data.
struct DataFindings {
  bool damaged = false;   ///< it gave up: libjpeg decoded the file instead
  bool leftover = false;  ///< a scan has more data than MCUs, which harms no sample
};

/// Adds to libjpeg's warnings those that it does not give. Where libjpeg says that the data is
/// corrupt or cut, nothing is added to that; bytes left over are another matter.
/// @param strict  refuses what would be added; libjpeg's own are refused where they are found
/// @return invalid_input with strict
[[nodiscard]] Result<std::vector<Warning>> complete_warnings(std::vector<Warning> of_libjpeg,
                                                             const DataFindings& found,
                                                             bool strict);

}  // namespace framewire::codec::turbo
