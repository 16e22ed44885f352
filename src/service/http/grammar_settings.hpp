// The URL grammar as a server's settings have it, presets from a file included.
#pragma once

#include <framewire/status.hpp>
#include <service/http/settings.hpp>
#include <service/url/grammar.hpp>

namespace framewire::service::http {

/// Reads ServiceSettings::presets_file, at most 1 MiB, and makes the grammar.
/// @return as Grammar::make(); about a preset of the file with "FILE:LINE". io_error and too_large
///         about the file
[[nodiscard]] Result<url::Grammar> make_grammar(const ServiceSettings& settings);

}  // namespace framewire::service::http
