#include <fcntl.h>
#include <fmt/format.h>
#include <base/file_descriptor.hpp>
#include <batch/identity.hpp>
#include <batch/names.hpp>
#include <batch/output_folder.hpp>
#include <batch/temporary_file.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
/// How long a file system's clock may take to tick; that of FAT takes two seconds, which is too
/// long to wait.
constexpr auto kMaxTick = std::chrono::milliseconds(30);

tl::unexpected<Status> refused(const std::string& path, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(path));
}

tl::unexpected<WriteError> no_folder(const std::string& path, std::string_view doing, int error) {
  return tl::unexpected<WriteError>(write_error(path, doing, error));
}

tl::unexpected<WriteError> no_folder(const std::string& path, std::string message) {
  return tl::unexpected<WriteError>({refused(path, std::move(message)).value(), false});
}

bool younger(const timespec& time, const timespec& than) {
  return time.tv_sec != than.tv_sec ? time.tv_sec > than.tv_sec : time.tv_nsec > than.tv_nsec;
}

std::optional<mode_t> mode_of_folder(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return std::nullopt;
  return facts.st_mode & 0777;
}

Result<timespec> time_of_new_file(int folder, const std::string& path) {
  const TemporaryFile file = TemporaryFile::make(folder);
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return fail(io_error(path, "write to the output folder", errno));
  }
  return facts.st_mtim;
}

}  // namespace

Result<std::unique_ptr<OutputFolder>> OutputFolder::open(const std::string& path,
                                                         const KnownInputs& inputs,
                                                         const OutputFolderOptions& options) {
  std::unique_ptr<OutputFolder> made(new OutputFolder());
  OutputFolder& out = *made;
  out.path_ = without_last_slashes(path);
  out.options_ = options;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    std::error_code error;
    const fs::path parent = (fs::path(path) / "").parent_path().parent_path();
    if (!parent.empty()) fs::create_directories(parent, error);
    const mode_t mode =
        folder_mode(inputs.folder.empty() ? std::nullopt : mode_of_folder(inputs.folder));
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
      return fail(io_error(path, "make the output folder", errno));
    }
  } else if (!S_ISDIR(facts.st_mode)) {
    return fail(io_error(path, "make the output folder", ENOTDIR));
  }
  auto folder = open_folder_of_ours(path);
  if (!folder) return fail(folder.error());
  out.folder_ = std::move(*folder);
  const auto identity = identify(out.folder_.get(), path);
  if (!identity) return fail(identity.error());
  out.id_ = {identity->device, identity->inode};
  out.mount_ = identity->mount;
  out.locator_ = std::make_unique<Locator>();
  auto location = out.locator_->of(out.folder_.get(), path);
  if (!location) return fail(location.error());
  out.location_ = std::move(*location);
  if (auto known = out.know(inputs); !known) return fail(known.error());
  if (auto started = out.start_clock(); !started) return fail(started.error());
  return made;
}

Result<void> OutputFolder::know(const KnownInputs& inputs) {
  scan_->again = inputs.again;
  for (const std::string& file : inputs.files) know_file(file);
  if (!inputs.files.empty() || inputs.elsewhere) inputs_ = Inputs::kFiles;
  list_ = inputs.list;
  struct stat facts {};
  if (!list_.empty() && ::stat(list_ == "-" ? "/dev/stdin" : list_.c_str(), &facts) == 0) {
    protect({facts.st_dev, facts.st_ino});
  }
  if (inputs.folder.empty()) return {};
  inputs_ = Inputs::kFolder;
  const base::FileDescriptor folder(
      ::open(inputs.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return fail(io_error(inputs.folder, "read the folder", errno));
  const auto identity = identify(folder.get(), inputs.folder);
  if (!identity) return fail(identity.error());
  inputs_folder_ = {identity->device, identity->inode};
  auto location = locator_->of(folder.get(), inputs.folder);
  if (!location) return fail(location.error());
  inputs_location_ = std::move(*location);
  return {};
}

// The file, the link that leads to it, and the name, which may be free until an output takes it.
void OutputFolder::know_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) files_.insert({facts.st_dev, facts.st_ino});
  if (::lstat(path.c_str(), &facts) == 0) files_.insert({facts.st_dev, facts.st_ino});
  const fs::path parent = fs::path(path).parent_path();
  if (::stat(parent.empty() ? "." : parent.c_str(), &facts) == 0) {
    names_.insert({{facts.st_dev, facts.st_ino}, fs::path(path).filename().string()});
  }
}

// A folder that cannot be written to is told by the first output, if there is one.
Result<void> OutputFolder::start_clock() {
  auto first = time_of_new_file(folder_.get(), path_);
  if (!first) {
    ::clock_gettime(CLOCK_REALTIME, &start_);
    return {};
  }
  start_ = *first;
  const auto patience = std::chrono::steady_clock::now() + kMaxTick;
  while (std::chrono::steady_clock::now() < patience) {
    const auto now = time_of_new_file(folder_.get(), path_);
    if (!now || younger(*now, start_)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

Result<bool> OutputFolder::among_outputs(int file, const std::string& path) const {
  const auto lies = locator_->of(file, path);
  if (!lies) return fail(lies.error());
  if (!holds(location_, *lies)) return false;
  const bool inputs_inside = inputs_ == Inputs::kFolder && holds(location_, inputs_location_) &&
                             location_.path != inputs_location_.path;
  return !inputs_inside || !holds(inputs_location_, *lies);
}

Result<void> OutputFolder::begin(const BeginSink& begin) {
  for (const FileId& file : begin.no_outputs) protect(file);
  if (!begin.resumed) return {};
  if (auto removed = remove_stale_temporaries(path_); !removed) return fail(removed.error());
  return {};
}

std::optional<struct stat> OutputFolder::file_named(const std::string& name) const {
  struct stat facts {};
  const bool there = check_name(name) && ::fstatat(folder_.get(), name.c_str(), &facts, 0) == 0;
  if (!there || !S_ISREG(facts.st_mode)) return std::nullopt;
  return facts;
}

Result<std::optional<std::uint64_t>> OutputFolder::find(const std::string& name) const {
  const auto existing = file_named(name);
  if (!existing) return std::nullopt;
  return static_cast<std::uint64_t>(existing->st_size);
}

Result<void> OutputFolder::admit(const Input& input, const OpenInput& open) const {
  const auto& permissions = open.facts().permissions;
  const auto existing = permissions ? file_named(input.name) : std::nullopt;
  if (existing && permissions->id == FileId{existing->st_dev, existing->st_ino}) {
    if (options_.in_place) return {};
    return refused(input.label, "the output would replace this very file");
  }
  // A walk through folders alone meets no output: the output folder is not entered.
  const auto* file = dynamic_cast<const OpenFile*>(&open);
  if (file == nullptr || input.direct) return {};
  return admit_file(file->file());
}

Result<void> OutputFolder::admit_file(const InputFile& file) const {
  if (inputs_ == Inputs::kFiles) return {};
  const auto among = among_outputs(file.descriptor(), file.path());
  if (!among) return fail(among.error());
  if (!*among) return {};
  return refused(file.path(),
                 fmt::format("lies in the output folder {}; accepted: inputs that do not, or "
                             "another output folder",
                             path_));
}

// Remembers only what lies among outputs, which hardly any input does.
void OutputFolder::scan() const {
  auto source = scan_->again();
  if (!source) {
    scan_->error = source.error();
    return;
  }
  for (;;) {
    const auto next = (*source)->next();
    if (!next) scan_->error = next.error();
    if (!next || !*next) return;
    const Input& input = **next;
    if (input.direct || input.error) continue;
    const base::FileDescriptor file(::open(input.label.c_str(), O_PATH | O_CLOEXEC));
    struct stat facts {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0) continue;
    const auto among = among_outputs(file.get(), input.label);
    if (!among || *among) scan_->files.insert({facts.st_dev, facts.st_ino});
  }
}

Result<void> OutputFolder::check_scanned(const Output& output, const struct stat& existing) const {
  if (!scan_->again && list_ != "-") {
    return refused(output.input,
                   fmt::format("its output {} exists, and may be an input of this batch; accepted: "
                               "inputs that can be gone through twice, a manifest that has it, or "
                               "another output folder",
                               output.label));
  }
  if (!scan_->again) {
    return refused(output.input,
                   fmt::format("its output {} exists, and a list on standard input may yet name "
                               "it; accepted: a list in a file, --resume with a manifest that has "
                               "it, or another output folder",
                               output.label));
  }
  std::call_once(scan_->once, [this] { scan(); });
  if (scan_->error) return fail(*scan_->error);
  if (!scan_->files.contains({existing.st_dev, existing.st_ino})) return {};
  return refused(output.input, fmt::format("its output would replace {}, which is an input of this "
                                           "batch; accepted: another output folder",
                                           output.label));
}

// @param source  the folder of the inputs that go there, whose mode a new one is given
OutputFolder::Opened OutputFolder::enter(int folder, const std::string& part,
                                         const std::string& source, const std::string& path) const {
  base::FileDescriptor next(::openat(folder, part.c_str(), kFolderFlags));
  if (!next.valid() && errno == ENOENT) {
    const mode_t mode = folder_mode(mode_of_folder(source));
    if (::mkdirat(folder, part.c_str(), mode) != 0 && errno != EEXIST) {
      return not_made(folder, path, "make the folder of", errno);
    }
    next = base::FileDescriptor(::openat(folder, part.c_str(), kFolderFlags));
  }
  if (!next.valid()) {
    const int error = errno;
    struct stat facts {};
    const bool link =
        ::fstatat(folder, part.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode);
    if (!link) return not_made(folder, path, "open the folder of", error);
    return no_folder(path, fmt::format("its folder {} is a link; accepted below the output folder: "
                                       "folders",
                                       part));
  }
  const auto identity = identify(next.get(), path);
  if (!identity) return tl::unexpected<WriteError>({identity.error(), false});
  if (identity->mount != mount_) {
    return tl::unexpected<WriteError>({leads_to_mount(path, part), false});
  }
  if (inputs_ == Inputs::kFolder && inputs_folder_ == Id{identity->device, identity->inode}) {
    return no_folder(path, "would be written into the folder of the inputs");
  }
  return next;
}

// @param folder  in which that was tried; it takes no more than the right to enter it to open what
//                is there by its path alone
OutputFolder::Opened OutputFolder::not_made(int folder, const std::string& path,
                                            std::string_view doing, int error) const {
  struct stat facts {};
  const bool in_root = ::fstat(folder, &facts) == 0 && id_ == FileId{facts.st_dev, facts.st_ino};
  return tl::unexpected<WriteError>(make_error(path, doing, error, in_root));
}

OutputFolder::Opened OutputFolder::open_parent(const Output& output) const {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(output.name).parent_path()) parts.push_back(part.string());
  // The input's folders have the names that the output's have, from the last one upwards.
  const fs::path source = fs::path(output.input).parent_path();
  std::string above = source.empty() ? "." : source.string();
  for (std::size_t i = 1; i < parts.size(); ++i) above += "/..";
  base::FileDescriptor folder(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  if (!folder.valid()) return no_folder(output.label, "open the folder of", errno);
  for (const std::string& part : parts) {
    auto next = enter(folder.get(), part, above, output.label);
    if (!next) return next;
    folder = std::move(*next);
    if (above.size() > 3) above.resize(above.size() - 3);
  }
  return folder;
}

Result<void> OutputFolder::may_replace(const Output& output, const FilePlace& place,
                                       const struct stat* existing) const {
  if (existing == nullptr) {
    struct stat folder {};
    if (names_.empty() || ::fstat(place.folder.get(), &folder) != 0 ||
        !names_.contains({{folder.st_dev, folder.st_ino}, place.name})) {
      return {};
    }
    return refused(output.input, fmt::format("its output {} is named as an input", output.label));
  }
  if (output.permissions && output.permissions->id == FileId{existing->st_dev, existing->st_ino}) {
    if (options_.in_place) return {};
    return refused(output.input, "the output would replace this very file");
  }
  if (files_.contains({existing->st_dev, existing->st_ino})) {
    return refused(output.input,
                   fmt::format("its output would replace {}, which this batch reads or writes; "
                               "accepted: another output folder",
                               output.label));
  }
  // Both times: one can be set at will, the other changes with every new link.
  if (younger(existing->st_mtim, start_) && younger(existing->st_ctim, start_)) {
    return refused(output.input,
                   fmt::format("its output {} was written since this batch began: another input "
                               "has the same, or another batch writes here",
                               output.label));
  }
  if (inputs_ == Inputs::kFiles || output.made_before) return {};
  return check_scanned(output, *existing);
}

WriteResult OutputFolder::commit(const Output& output, std::span<const std::uint8_t> bytes) {
  if (auto good = check_name(output.name); !good) {
    return tl::unexpected<WriteError>({about_label(good.error(), output.label), false});
  }
  auto folder = open_parent(output);
  if (!folder) return tl::unexpected<WriteError>(std::move(folder.error()));
  const bool in_root = output.name.find('/') == std::string::npos;
  const FilePlace place{std::move(*folder), fs::path(output.name).filename().string(), false};
  return write_at(
      place, output.label, bytes,
      WriteOptions{options_.durability, output.permissions ? &*output.permissions : nullptr,
                   options_.mode, in_root},
      [&](const struct stat* existing) { return may_replace(output, place, existing); });
}

Result<std::unique_ptr<FolderSink>> open_output_folder(const std::string& path,
                                                       const KnownInputs& inputs,
                                                       const OutputFolderOptions& options) {
  return OutputFolder::open(path, inputs, options);
}

}  // namespace framewire::batch
