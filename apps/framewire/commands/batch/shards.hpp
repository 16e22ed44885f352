// What framewire batch does with tar shards besides what it does with files.
#pragma once

#include <command_line/command.hpp>
#include <dataset/tar_batch.hpp>
#include <framewire/batch.hpp>
#include <framewire/status.hpp>
#include <inspect/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::app {

/// Reads --shard: I/N, or auto: the task of an array of Slurm's, of Kubernetes' or of AWS Batch's
/// that this process is. @return misuse(), also where the environment does not say
[[nodiscard]] Result<batch::Shard> parse_shard(const std::string& text);

/// Whether inputs are tar shards, by their names: of a list, its first. Then `paths` has all of
/// them, with braces expanded. Of a list of URLs of pictures `paths` has all of them too, and there
/// is no list any more.
/// @param list  a file of names; "-" for standard input, which like a pipe is not looked into; ""
///              without
/// @return misuse() for shards among other inputs; io_error
[[nodiscard]] Result<bool> take_shards(std::vector<std::string>& paths, std::string& list,
                                       char separator);

/// The options of a batch over shards; those of files alone are refused.
/// @param part  as --shard says
/// @return misuse()
[[nodiscard]] Result<dataset::TarBatchOptions> make_shard_options(
    const Arguments& arguments, const std::string& output_folder, const batch::Shard& part,
    std::optional<std::uint32_t> mode);
/// Refuses the options that only shards have. @return misuse()
[[nodiscard]] Result<void> refuse_shard_options(const Arguments& arguments);

/// "; 3 shards written, 2 done before"
[[nodiscard]] std::string shards_text(const dataset::ShardTotals& totals);
[[nodiscard]] inspect::Json shards_json(const dataset::ShardTotals& totals);

}  // namespace framewire::app
