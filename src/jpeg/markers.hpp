// Marker codes (T.81 table B.1) and the words that people use for a file's structure.
#pragma once

#include <cstdint>
#include <jpeg/types.hpp>
#include <string>
#include <string_view>

namespace framewire::jpeg {

namespace marker {
inline constexpr std::uint8_t kTem = 0x01;
inline constexpr std::uint8_t kSof0 = 0xC0;
inline constexpr std::uint8_t kSof1 = 0xC1;
inline constexpr std::uint8_t kSof2 = 0xC2;
inline constexpr std::uint8_t kSof3 = 0xC3;
inline constexpr std::uint8_t kDht = 0xC4;
inline constexpr std::uint8_t kJpg = 0xC8;
inline constexpr std::uint8_t kSof9 = 0xC9;
inline constexpr std::uint8_t kSof10 = 0xCA;
inline constexpr std::uint8_t kDac = 0xCC;
inline constexpr std::uint8_t kSof15 = 0xCF;
inline constexpr std::uint8_t kRst0 = 0xD0;
inline constexpr std::uint8_t kRst7 = 0xD7;
inline constexpr std::uint8_t kSoi = 0xD8;
inline constexpr std::uint8_t kEoi = 0xD9;
inline constexpr std::uint8_t kSos = 0xDA;
inline constexpr std::uint8_t kDqt = 0xDB;
inline constexpr std::uint8_t kDnl = 0xDC;
inline constexpr std::uint8_t kDri = 0xDD;
inline constexpr std::uint8_t kDhp = 0xDE;
inline constexpr std::uint8_t kExp = 0xDF;
inline constexpr std::uint8_t kApp0 = 0xE0;
inline constexpr std::uint8_t kApp1 = 0xE1;
inline constexpr std::uint8_t kApp2 = 0xE2;
inline constexpr std::uint8_t kApp13 = 0xED;
inline constexpr std::uint8_t kApp14 = 0xEE;
inline constexpr std::uint8_t kApp15 = 0xEF;
inline constexpr std::uint8_t kCom = 0xFE;
/// Any number of these may stand before a marker (T.81 B.1.1.2).
inline constexpr std::uint8_t kFill = 0xFF;
}  // namespace marker

[[nodiscard]] constexpr bool is_restart(std::uint8_t code) noexcept {
  return code >= marker::kRst0 && code <= marker::kRst7;
}
[[nodiscard]] constexpr bool is_app(std::uint8_t code) noexcept {
  return code >= marker::kApp0 && code <= marker::kApp15;
}
/// SOF0 to SOF15, the codes that DHT, JPG and DAC take from that range left out.
[[nodiscard]] constexpr bool is_frame(std::uint8_t code) noexcept {
  return code >= marker::kSof0 && code <= marker::kSof15 && code != marker::kDht &&
         code != marker::kJpg && code != marker::kDac;
}

/// "SOI", "SOF2", "APP14", "RST3", "DQT"…; "RES" for reserved codes. Static storage.
[[nodiscard]] std::string_view marker_name(std::uint8_t code) noexcept;

/// "baseline", "extended", "progressive" or "lossless"; with "arithmetic " and "hierarchical ".
[[nodiscard]] std::string process_name(const FrameHeader& frame);

/// "gray", "444", "422", "420", "440", "411", or each component's factors: "2x2,1x2,1x1".
[[nodiscard]] std::string sampling_name(const FrameHeader& frame);

/// "gray", "YCbCr", "RGB", "CMYK", "YCCK", "unknown".
[[nodiscard]] std::string_view color_model_name(ColorModel model) noexcept;

}  // namespace framewire::jpeg
