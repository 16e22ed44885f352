#include <fmt/format.h>
#include <sys/stat.h>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <command_line/misuse.hpp>
#include <files/inputs.hpp>
#include <filesystem>
#include <utility>

namespace framewire::app {

namespace fs = std::filesystem;

Result<InputNames> make_input_names(std::vector<std::string> paths, std::string list,
                                    bool null_separated) {
  InputNames names{std::move(paths), std::move(list), null_separated};
  if (names.list.empty() && names.paths.size() == 1 && names.paths[0].starts_with("@")) {
    names.list = names.paths[0].substr(1);
    if (names.list.empty()) return misuse("@ names no list; accepted: @LIST");
    names.paths.clear();
  }
  if (null_separated && names.list.empty()) {
    return misuse(
        "--null tells how a list is separated, and there is none; accepted with "
        "--files-from LIST, or @LIST");
  }
  if (!names.list.empty() && !names.paths.empty()) {
    return misuse("inputs are given both as arguments and as a list; accepted: either");
  }
  std::error_code error;
  for (const std::string& path : names.paths) {
    if (!path.starts_with("@") || fs::exists(fs::symlink_status(path, error))) continue;
    return misuse(
        fmt::format("{}: accepted: one list at a time, and nothing beside it; a file of such a "
                    "name is ./{}",
                    path, path));
  }
  for (const std::string& path : names.paths) {
    if (names.paths.size() > 1 && fs::is_directory(path, error)) {
      return misuse(fmt::format("{} is a folder; accepted: one folder, or several files", path));
    }
  }
  return names;
}

namespace {

bool is_one_folder(const InputNames& names) {
  std::error_code error;
  return names.list.empty() && names.paths.size() == 1 &&
         !fs::is_regular_file(names.paths[0], error);
}

}  // namespace

Result<void> check_inputs(const InputNames& names) {
  if (!is_one_folder(names)) return {};
  const std::string& path = names.paths[0];
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return fail(batch::io_error(path, "open", errno));
  if (S_ISDIR(facts.st_mode)) return {};
  return fail(Status(StatusCode::kInvalidInput,
                     "is a pipe, a socket or a device; accepted: a folder, files, or @LIST")
                  .about(path));
}

batch::KnownInputs known_inputs(const InputNames& names) {
  batch::KnownInputs known;
  if (is_one_folder(names)) {
    known.folder = names.paths[0];
  } else {
    known.files = names.paths;
  }
  known.list = names.list;
  // Standard input cannot be read twice.
  if (names.list != "-") known.again = [names] { return open_inputs(names, {}); };
  return known;
}

Result<std::unique_ptr<batch::Source>> open_inputs(const InputNames& names,
                                                   const std::vector<batch::FileId>& excluded) {
  if (!names.list.empty()) return batch::open_list(names.list, names.null_separated ? '\0' : '\n');
  if (auto good = check_inputs(names); !good) return fail(good.error());
  if (is_one_folder(names)) return batch::open_folder(names.paths[0], excluded);
  return batch::open_files(names.paths);
}

}  // namespace framewire::app
