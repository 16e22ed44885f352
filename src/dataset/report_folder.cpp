// Manifests and outputs in folders.
#include <fcntl.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <dataset/report_place.hpp>
#include <dataset/row_lines.hpp>
#include <filesystem>
#include <utility>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> list_manifests(const ReportOptions& options) {
  const std::string& folder = options.manifests;
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, error);
  for (; !error && names.size() <= options.max_manifests &&
         walk != fs::recursive_directory_iterator();
       walk.increment(error)) {
    const std::string path = walk->path();
    if (path.ends_with(kManifestEnding)) {
      names.push_back(walk->path().lexically_relative(folder).string());
    }
  }
  if (error) return fail(batch::io_error(folder, "read the folder", error.value()));
  if (auto few = check_number(names.size(), options); !few) return fail(few.error());
  std::ranges::sort(names);
  return names;
}

class ReportFolder final : public ReportPlace {
 public:
  ReportFolder(const ReportOptions& options, base::FileDescriptor folder,
               std::vector<std::string> names)
      : manifests_(options.manifests),
        outputs_(options.outputs),
        folder_(std::move(folder)),
        names_(std::move(names)) {}

  const std::vector<std::string>& manifests() const override { return names_; }
  Result<std::optional<ShardRecord>> next_record() override {
    return read_record(folder_.get(), names_[next_++]);
  }
  bool has_output(const std::string& shard, const ShardRecord& record) override {
    // A link is no output, as a batch has it.
    std::error_code error;
    const fs::path output = outputs_ / shard;
    if (!fs::is_regular_file(fs::symlink_status(output, error))) return false;
    const auto bytes = fs::file_size(output, error);
    return !error && bytes == record.bytes_out;
  }
  Result<void> read_lines(const std::string& manifest,
                          const std::function<void(std::string_view)>& take) override {
    return read_rows(folder_.get(), manifest, manifests_ / manifest, take);
  }

 private:
  const fs::path manifests_;
  const fs::path outputs_;
  const base::FileDescriptor folder_;
  const std::vector<std::string> names_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<ReportPlace>> open_report_folder(const ReportOptions& options) {
  auto names = list_manifests(options);
  if (!names) return fail(names.error());
  base::FileDescriptor folder(::open(options.manifests.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return fail(batch::io_error(options.manifests, "read the folder", errno));
  return std::make_unique<ReportFolder>(options, std::move(folder), std::move(*names));
}

}  // namespace framewire::dataset
