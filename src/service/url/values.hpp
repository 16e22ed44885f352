// Single arguments of options, as imgproxy reads them, and the words they may be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <service/url/image_options.hpp>
#include <string>
#include <string_view>

namespace framewire::service::url {

/// Decimal digits, a sign allowed. Nothing for any other text and for values outside [low, high].
[[nodiscard]] std::optional<std::int64_t> read_integer(std::string_view text, std::int64_t low,
                                                       std::int64_t high);

/// Decimal with or without point and exponent, or hexadecimal with the exponent that Go wants
/// ("0x1p-2"); a sign allowed. Only finite values, and never −0.
[[nodiscard]] std::optional<double> read_real(std::string_view text);

/// 1, t, T, true, True, TRUE are true. Any other text is false, as in imgproxy.
[[nodiscard]] bool read_bool(std::string_view text) noexcept;

/// 3 or 6 hexadecimal digits.
[[nodiscard]] std::optional<RgbBytes> read_rgb(std::string_view text);

/// "jpg" too; lower case alone.
[[nodiscard]] std::optional<Format> read_format(std::string_view text);
[[nodiscard]] std::optional<ResizingType> read_resizing_type(std::string_view text);
[[nodiscard]] std::optional<GravityType> read_gravity_type(std::string_view text);

[[nodiscard]] std::string_view word(Format format) noexcept;
[[nodiscard]] std::string_view word(ResizingType type) noexcept;
[[nodiscard]] std::string_view word(GravityType type) noexcept;
[[nodiscard]] std::string hex(const RgbBytes& color);  ///< six digits, lower case

}  // namespace framewire::service::url
