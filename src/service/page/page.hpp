// The page to try the service on, and to watch it.
#pragma once

#include <string_view>

namespace framewire::service::page {

/// The one file of the page, HTML with its styles and its script in it; it loads nothing else but
/// what it asks of the server that it comes from: /v1/options, /v1/resize, /readyz and /metrics.
/// Static storage.
[[nodiscard]] std::string_view index_html() noexcept;

}  // namespace framewire::service::page
