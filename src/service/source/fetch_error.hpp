// Making errors of fetches.
#pragma once

#include <service/source/sources.hpp>
#include <string_view>

namespace framewire::service::source {

/// An error whose message is cut to 512 bytes and printable; without one where memory ran out.
[[nodiscard]] FetchError fetch_error(FetchErrorKind kind, std::string_view message = {},
                                     unsigned origin_status = 0) noexcept;

[[nodiscard]] inline tl::unexpected<FetchError> fail_fetch(FetchErrorKind kind,
                                                           std::string_view message = {}) noexcept {
  return tl::unexpected<FetchError>(fetch_error(kind, message));
}

}  // namespace framewire::service::source
