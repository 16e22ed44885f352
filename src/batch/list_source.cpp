// Sources of named files: lists, and the command line's own arguments.
#include <fmt/format.h>
#include <batch/input_file.hpp>
#include <batch/list_source.hpp>
#include <batch/names.hpp>
#include <batch/posix_file.hpp>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

Input refused_input(std::string path, std::string message) {
  Input input;
  input.name = path;
  input.error = Status(StatusCode::kInvalidInput, std::move(message)).about(path);
  input.label = std::move(path);
  return input;
}

struct FileCloser {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

class ListSource final : public FileSource {
 public:
  ListSource(File file, std::string list, char separator)
      : file_(std::move(file)), list_(std::move(list)), separator_(separator) {}

  Result<std::optional<Input>> next() override { return take(); }

 private:
  std::optional<Input> take() {
    while (file_) {
      std::string entry;
      const Read read = read_entry(entry);
      if (read == Read::kError) {
        Input input = refused_input(list_, "");
        input.error = io_error(list_, "read the list", errno);
        file_.reset();
        return input;
      }
      if (read == Read::kEnd) file_.reset();
      if (read == Read::kTooLong) {
        return refused_input(list_,
                             fmt::format("entry {} is longer than {} bytes", line_, kMaxNameBytes));
      }
      if (separator_ == '\n') strip_foreign_marks(entry);
      if (entry.find('\0') != std::string::npos) return refuse_nul(entry);
      if (!entry.empty()) return make_input(entry);
    }
    return std::nullopt;
  }

  enum class Read { kEntry, kEnd, kTooLong, kError };

  // Reads byte by byte, through stdio's buffer, so that a list without separators stays harmless.
  Read read_entry(std::string& entry) {
    ++line_;
    bool too_long = false;
    for (;;) {
      const int byte = std::getc(file_.get());
      if (byte == EOF && std::ferror(file_.get()) != 0) return Read::kError;
      if (byte == EOF) return too_long ? Read::kTooLong : Read::kEnd;
      if (static_cast<char>(byte) == separator_) return too_long ? Read::kTooLong : Read::kEntry;
      if (entry.size() == kMaxNameBytes) {
        too_long = true;
        entry.clear();
      }
      if (!too_long) entry.push_back(static_cast<char>(byte));
    }
  }

  // What editors and other systems put around lines: a byte order mark, carriage returns.
  void strip_foreign_marks(std::string& entry) const {
    constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
    if (line_ == 1 && entry.starts_with(kUtf8Mark)) entry.erase(0, kUtf8Mark.size());
    if (entry.ends_with('\r')) entry.pop_back();
  }

  // The kernel would open what comes before the NUL: another file than the one named.
  [[nodiscard]] Input refuse_nul(const std::string& entry) {
    const bool utf16 =
        line_ == 1 && (entry.starts_with("\xFF\xFE") || entry.starts_with("\xFE\xFF"));
    if (utf16) {
      file_.reset();
      return refused_input(list_, "is written in UTF-16; accepted: UTF-8");
    }
    return refused_input(list_,
                         fmt::format("line {} holds a NUL byte; accepted: names without, or with "
                                     "--null names that end with one",
                                     line_));
  }

  Input make_input(const std::string& entry) {
    Input input;
    input.label = entry;
    auto name = name_in_list(entry);
    if (!name) return refused_input(entry, name.error().message());
    input.name = std::move(*name);
    if (!names_.insert(input.name)) {
      return refused_input(
          entry,
          fmt::format("would be written to {} like an earlier entry of the list", input.name));
    }
    return input;
  }

  File file_;
  std::string list_;
  char separator_;
  std::uint64_t line_ = 0;
  NameSet names_;
};

// Absolute and free of "." and "..", so that two spellings of one place compare equal.
fs::path absolute_path(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return (error ? fs::path(path) : absolute).lexically_normal();
}

fs::path common_folder(const fs::path& a, const fs::path& b) {
  fs::path common;
  auto other = b.begin();
  for (const fs::path& part : a) {
    if (other == b.end() || part != *other) break;
    common /= part;
    ++other;
  }
  return common;
}

class FilesSource final : public FileSource {
 public:
  explicit FilesSource(std::span<const std::string> paths) : paths_(paths.begin(), paths.end()) {
    for (const std::string& path : paths_) {
      const fs::path folder = absolute_path(path).parent_path();
      base_ = base_.empty() ? folder : common_folder(base_, folder);
    }
  }

  Result<std::optional<Input>> next() override { return take(); }

 private:
  std::optional<Input> take() {
    if (at_ == paths_.size()) return std::nullopt;
    const std::string& path = paths_[at_++];
    Input input;
    input.label = path;
    input.name = absolute_path(path).lexically_relative(base_).string();
    if (!names_.insert(input.name)) return refused_input(path, "was named before");
    return input;
  }

  std::vector<std::string> paths_;
  fs::path base_;
  std::size_t at_ = 0;
  NameSet names_;
};

}  // namespace

Result<std::string> name_in_list(const std::string& entry) {
  constexpr std::string_view kMark = "/./";
  const std::size_t mark = entry.rfind(kMark);
  const std::string written = mark == std::string::npos ? entry : entry.substr(mark + kMark.size());
  std::string name = fs::path(written).lexically_normal().relative_path().string();
  if (name != ".." && !name.starts_with("../")) return name;
  return fail(Status(StatusCode::kInvalidInput,
                     "leads out of the current folder; accepted in a list: names below it, and "
                     "absolute names")
                  .about(entry));
}

Result<std::unique_ptr<Source>> open_list(const std::string& list, char separator) {
  File file(list == "-" ? stdin : std::fopen(list.c_str(), "re"));
  if (!file) return fail(io_error(list, "open the list", errno));
  return std::make_unique<ListSource>(std::move(file), list, separator);
}

std::unique_ptr<Source> open_files(std::span<const std::string> paths) {
  return std::make_unique<FilesSource>(paths);
}

}  // namespace framewire::batch
