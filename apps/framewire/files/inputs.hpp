// The inputs of commands that take many.
#pragma once

#include <framewire/batch/files.hpp>
#include <memory>
#include <string>
#include <vector>

namespace framewire::app {

/// One folder with all below it, or several files; or the names in a list.
struct InputNames {
  std::vector<std::string> paths;
  std::string list;             ///< a file of names, "-" for standard input; then no paths
  bool null_separated = false;  ///< in the list
};

/// @param paths  of the command line; a lone @LIST stands for a list
/// @param list   of --files-from; "" without
/// @return misuse()
[[nodiscard]] Result<InputNames> make_input_names(std::vector<std::string> paths, std::string list,
                                                  bool null_separated = false);

/// Whether a lone name is a folder, or a file, as open_inputs() takes it.
/// @return io_error where there is nothing; invalid_input for pipes, sockets and devices
[[nodiscard]] Result<void> check_inputs(const InputNames& names);

/// What is known of the inputs before they are opened.
[[nodiscard]] batch::KnownInputs known_inputs(const InputNames& names);

/// @param excluded  files and folders to pass over
/// @return as check_inputs(); io_error
[[nodiscard]] Result<std::unique_ptr<batch::Source>> open_inputs(
    const InputNames& names, const std::vector<batch::FileId>& excluded);

}  // namespace framewire::app
