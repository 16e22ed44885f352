// What framewire batch does with --pack and --unpack.
#pragma once

#include <command_line/command.hpp>
#include <dataset/pack_batch.hpp>
#include <dataset/unpack_source.hpp>
#include <files/inputs.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <inspect/json.hpp>
#include <optional>
#include <string>

namespace framewire::app {

/// Reads --pack and what belongs to it.
/// @param pattern  in the place of OUT_DIR
/// @param inputs   no tar shards
/// @param mode     of shards
/// @return nothing without --pack; misuse()
[[nodiscard]] Result<std::optional<dataset::PackOptions>> make_pack_options(
    const Arguments& arguments, const std::string& pattern, const InputNames& inputs,
    const batch::Shard& part, std::optional<std::uint32_t> mode);

/// Reads --unpack and what belongs to it. @return nothing without --unpack; misuse()
[[nodiscard]] Result<std::optional<dataset::UnpackOptions>> make_unpack_options(
    const Arguments& arguments, const batch::Shard& part);

/// "; 3 shards written, 500 inputs in shards before"
[[nodiscard]] std::string packed_text(const dataset::PackTotals& totals);
[[nodiscard]] inspect::Json packed_json(const dataset::PackTotals& totals);

}  // namespace framewire::app
