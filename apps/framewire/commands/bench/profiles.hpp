// Inputs with colour profiles of their own, to measure what many different profiles cost.
#pragma once

#include <commands/bench/measure.hpp>
#include <cstdint>
#include <framewire/engine.hpp>
#include <report/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app {

/// A number of profiles, or paths of profiles joined by commas. @return none for no text; misuse();
/// io_error for a file that cannot be read
[[nodiscard]] Result<std::vector<std::vector<std::uint8_t>>> make_bench_profiles(
    const std::string& text);

/// Gives inputs these profiles by turns, in place of what they have; inputs are repeated until
/// every profile has its turn. Does nothing without profiles.
/// @return as jpeg::parse(); invalid_input for a profile of more than 255 segments
[[nodiscard]] Result<void> give_profiles(const std::vector<std::vector<std::uint8_t>>& profiles,
                                         std::vector<BenchInput>& inputs);

/// What an engine did with profiles since `first`, and what it keeps of them.
[[nodiscard]] Json profiles_json(const ProfileStats& now, const ProfileStats& first);
/// A line of it; none where no input had a profile. @param profiles  as profiles_json()
[[nodiscard]] std::string profiles_line(std::string_view codec, const Json& profiles);

}  // namespace framewire::app
