// The folder that a batch writes to, which holds none of its inputs.
#pragma once

#include <base/file_descriptor.hpp>
#include <batch/atomic_file.hpp>
#include <batch/input_file.hpp>
#include <batch/location.hpp>
#include <framewire/batch/files.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace framewire::batch {

/// Writes below one folder, so that no output ever replaces an input of its batch, met or yet to be
/// met, whatever the way to it. In memory that does not grow with the batch: instead of remembering
/// inputs it keeps two places apart.
///
/// Outputs go below the folder and nowhere else: no link and no mount below it is followed. Named
/// files are known by device and inode, and by their folder and name. Of a folder or a list the
/// inputs that lie among outputs, by whatever links, bind mounts or "..", are refused, and their
/// files are kept: before the first file is replaced that is older than the batch, the inputs are
/// gone through once, and those of such places remembered. Where that cannot be done, for a list on
/// standard input, only outputs that a manifest tells of are replaced. An input folder inside the
/// output folder is one that outputs do not enter. With in_place a file may be replaced by what was
/// made of this very file, and by nothing else. Two inputs with one output are told by a file that
/// is younger than the batch.
class OutputFolder final : public FolderSink {
 public:
  /// Makes the folder where it is missing, no wider than the folder of the inputs.
  /// @return io_error; denied where it is a link that another user owns
  [[nodiscard]] static Result<std::unique_ptr<OutputFolder>> open(
      const std::string& path, const KnownInputs& inputs, const OutputFolderOptions& options);

  [[nodiscard]] FileId id() const noexcept override { return id_; }
  [[nodiscard]] std::string label(const std::string& name) const override {
    return path_ + "/" + name;
  }
  /// Deletes what dead batches left unfinished, for one that goes on.
  [[nodiscard]] Result<void> begin(const BeginSink& begin) override;
  [[nodiscard]] Result<std::optional<std::uint64_t>> find(const std::string& name) const override;

  /// Whether an input may be read: not where its output would replace it, unless in place, and not
  /// where it lies among outputs, which no input does that a folder led to directly. Any thread.
  /// @return invalid_input
  [[nodiscard]] Result<void> admit(const Input& input, const OpenInput& open) const override;
  /// The second part of it, of a file.
  [[nodiscard]] Result<void> admit_file(const InputFile& file) const;

  /// Writes an output, making the folders above it. Any thread.
  /// @return as write_at(); invalid_input where it would replace an input or another output, or
  ///         where its name leads out of the folder
  [[nodiscard]] WriteResult commit(const Output& output,
                                   std::span<const std::uint8_t> bytes) override;

 private:
  using Id = std::pair<std::uint64_t, std::uint64_t>;
  using Opened = tl::expected<base::FileDescriptor, WriteError>;
  enum class Inputs : std::uint8_t { kFiles, kFolder, kList };

  OutputFolder() = default;
  void protect(FileId file) { files_.insert({file.device, file.inode}); }
  [[nodiscard]] std::optional<struct stat> file_named(const std::string& name) const;
  Result<void> know(const KnownInputs& inputs);
  void know_file(const std::string& path);
  Result<void> start_clock();
  [[nodiscard]] Opened open_parent(const Output& output) const;
  [[nodiscard]] Opened enter(int folder, const std::string& part, const std::string& source,
                             const std::string& path) const;
  [[nodiscard]] Opened not_made(int folder, const std::string& path, std::string_view doing,
                                int error) const;
  void scan() const;
  [[nodiscard]] Result<bool> among_outputs(int file, const std::string& path) const;
  [[nodiscard]] Result<void> check_scanned(const Output& output, const struct stat& existing) const;
  [[nodiscard]] Result<void> may_replace(const Output& output, const FilePlace& place,
                                         const struct stat* existing) const;

  std::string path_;
  OutputFolderOptions options_;
  std::string list_;  ///< as KnownInputs::list
  base::FileDescriptor folder_;
  FileId id_;
  std::uint64_t mount_ = 0;
  std::unique_ptr<Locator> locator_;
  Location location_;
  timespec start_{};  ///< by the folder's own clock: outputs of this batch are younger

  Inputs inputs_ = Inputs::kList;
  Location inputs_location_;
  Id inputs_folder_{};
  std::set<Id> files_;
  std::set<std::pair<Id, std::string>> names_;  ///< folder and name of named files

  /// Inputs that lie among outputs; looked for once, and only when something is to be replaced.
  struct Scan {
    std::once_flag once;
    std::function<Result<std::unique_ptr<Source>>()> again;
    std::set<Id> files;
    std::optional<Status> error;
  };
  std::unique_ptr<Scan> scan_ = std::make_unique<Scan>();
};

}  // namespace framewire::batch
