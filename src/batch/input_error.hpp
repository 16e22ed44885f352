// Errors that name the input that they are about.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <string_view>

namespace framewire::batch {

/// too_large about an input of which that many bytes, or more, were found.
[[nodiscard]] Status over_limit(std::string_view label, std::uint64_t bytes, std::uint64_t limit);

/// The same error, about a file: what it was about so far, such as a marker, joins the message.
[[nodiscard]] Status about_file(Status status, std::string_view path);

/// What a source or a sink says: as about_file(), unless it says already what it is about.
[[nodiscard]] Status about_label(Status status, std::string_view label);

}  // namespace framewire::batch
