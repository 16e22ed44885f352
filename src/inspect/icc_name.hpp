// The name that an ICC profile gives itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace framewire::inspect {

/// The profile's description, the first language of several; "" where there is none to be read.
/// Source: ICC.1:2022, 7.3 (tag table), 10.15 (multiLocalizedUnicodeType); ICC.1:2001-04, 6.5.17
/// (textDescriptionType).
[[nodiscard]] std::string icc_name(std::span<const std::uint8_t> profile);

}  // namespace framewire::inspect
