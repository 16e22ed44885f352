// What a batch over any inputs says at its end.
#pragma once

#include <framewire/batch.hpp>
#include <string>

namespace framewire::app {

/// "3 resized, 1 failed; 4.9 MB -> 24 kB in 0.2 s, 17.1 images/s"
[[nodiscard]] std::string summary_text(const batch::Summary& summary);

/// By docs/errors.md.
[[nodiscard]] int exit_code(const batch::Summary& summary);

}  // namespace framewire::app
