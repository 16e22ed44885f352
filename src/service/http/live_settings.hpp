// Which settings a running server takes over, and which wait for its next start.
#pragma once

#include <service/http/settings.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::http {

/// What becomes of new settings in a server that runs.
struct SettingsChange {
  ServiceSettings settings;          ///< the running ones, with whatever could be taken over
  std::vector<std::string> taken;    ///< names of settings that differ and were taken over
  std::vector<std::string> waiting;  ///< names of settings that differ and need a restart
  /// Names of settings whose value is the same, while the file or folder that it names is another.
  std::vector<std::string> contents{};
};

/// Compares by what the table prints. Options of pictures are taken over together, under the name
/// "options"; the codec is not, since the engine was made for it, nor with workers the bytes of an
/// input.
/// @param running  as the server was started, or as merge_live() returned them
[[nodiscard]] SettingsChange merge_live(const ServiceSettings& running,
                                        const ServiceSettings& wanted);

/// Whether a running server takes the setting over; of names in setting_rows().
[[nodiscard]] bool is_live(std::string_view name);

}  // namespace framewire::service::http
