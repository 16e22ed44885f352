// What the command line of framewire batch says.
#pragma once

#include <command_line/command.hpp>
#include <command_line/store_options.hpp>
#include <commands/batch/engine_choice.hpp>
#include <dataset/pack_batch.hpp>
#include <dataset/tar_batch.hpp>
#include <dataset/unpack_source.hpp>
#include <files/inputs.hpp>
#include <framewire/batch.hpp>
#include <optional>
#include <string>

namespace framewire::app {

/// What the command line says, once understood.
struct BatchCommand {
  InputNames inputs;
  std::string manifest;
  bool resume = false;
  std::string output_folder;
  batch::OutputFolderOptions output;
  batch::Shard part;  ///< of the inputs; of files it is in the settings too
  batch::Settings settings;
  EngineChoice engine;
  std::optional<dataset::TarBatchOptions> shards;  ///< set where shards are made of shards
  std::optional<dataset::PackOptions> pack;        ///< set where shards are made of files
  std::optional<dataset::UnpackOptions> unpack;    ///< set where files are made of shards
  StoreChoice stores;                              ///< of names that begin with s3://
};

/// @return misuse(); io_error for a list that cannot be read
[[nodiscard]] Result<BatchCommand> make_batch_command(const Arguments& arguments);

}  // namespace framewire::app
