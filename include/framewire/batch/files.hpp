// Batches over files: folders and lists of inputs, a folder of outputs, a file of rows.
#pragma once

#include <cstdint>
#include <framewire/batch/manifest.hpp>
#include <framewire/batch/sink.hpp>
#include <framewire/batch/source.hpp>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::batch {

/// Every file below a folder, each folder's entries in byte order of their names.
///
/// Links to files and folders are followed; a link to a folder that contains it is reported, not
/// entered. Unfinished outputs are left out. Memory: at most about 65,000 names plus 256 a level of
/// depth, however many files there are: larger folders are read again for each further part.
/// @param excluded  files and folders to pass over, such as an output folder inside the input
/// @return io_error where the folder cannot be read
[[nodiscard]] FRAMEWIRE_API Result<std::unique_ptr<Source>> open_folder(
    const std::string& folder, std::vector<FileId> excluded);

/// The files named in a list, one a line, or ended by NUL. Lines may end with CR LF, and the list
/// begin with a byte order mark; a line that holds NUL is reported.
///
/// A relative name is kept below the output folder, an absolute one without its leading slash, and
/// of one with "/./" what follows the last of these, as of one alone with rsync --relative; names
/// that lead out of the current folder and names met before are reported. Memory: about 50 bytes a
/// name, to recognise repetitions.
/// @param list       path of the list, or "-" for standard input
/// @param separator  '\n' or '\0'
/// @return io_error where the list cannot be read
[[nodiscard]] FRAMEWIRE_API Result<std::unique_ptr<Source>> open_list(const std::string& list,
                                                                      char separator);

/// Files named one by one; their paths below the deepest folder that holds them all are kept.
[[nodiscard]] FRAMEWIRE_API std::unique_ptr<Source> open_files(std::span<const std::string> paths);

/// Opens one file, for sources of one's own that hand out files: only inputs that this has opened
/// does an output folder recognise wherever they lie. Never blocks. Any thread.
/// @return io_error where it cannot be opened; invalid_input for folders, devices and pipes
[[nodiscard]] FRAMEWIRE_API Result<std::unique_ptr<OpenInput>> open_input_file(
    const std::string& path);

/// What a finished output survives besides the death of the program.
///
/// kNone leaves flushing to the kernel: a power cut may lose or empty files of the last seconds,
/// which --resume notices by their size and makes again from the inputs; it is the default because
/// waiting for the disk at every file costs more than that. kFile flushes each file before it gets
/// its name.
enum class Durability : std::uint8_t { kNone, kFile };

/// What is known of a batch's inputs before the first is opened: their names, or the folder that
/// they are below; of a list nothing, since it may be longer than memory and still being written.
struct KnownInputs {
  std::vector<std::string> files;
  std::string folder;
  /// Goes through the inputs of a folder or a list once more; labels are paths. Empty where they
  /// come but once.
  std::function<Result<std::unique_ptr<Source>>()> again = {};
  std::string list = {};  ///< a file that no output replaces; "-" is standard input
  /// No input is a file that an output could meet: they come from an object store, or from inside
  /// files that are named in `files`. Nothing else but that needs to be said then.
  bool elsewhere = false;
};

/// How an output folder is written to.
struct OutputFolderOptions {
  Durability durability = Durability::kNone;
  std::optional<std::uint32_t> mode;  ///< of outputs, whatever the inputs'; nine bits
  bool in_place = false;              ///< an output may replace its own input
};

/// A sink that also says which folder of this machine it is.
class FolderSink : public Sink {
 public:
  /// For a source that passes over it.
  [[nodiscard]] virtual FileId id() const noexcept = 0;
};

/// A folder of outputs, with all that docs/batch.md promises: files appear whole or not at all,
/// under names below the folder and nowhere else; none replaces an input of its batch, met or yet
/// to be met; none is wider than its input. Makes the folder where it is missing, no wider than the
/// folder of the inputs. A resumed batch deletes what dead ones left unfinished.
/// @return io_error; denied where it is a link that another user owns
[[nodiscard]] FRAMEWIRE_API Result<std::unique_ptr<FolderSink>> open_output_folder(
    const std::string& path, const KnownInputs& inputs, const OutputFolderOptions& options = {});

/// Deletes the unfinished outputs of this process, and has it make none any more (EINTR). For
/// handlers of signals that end it: calls nothing that is not safe there. Waits for files that
/// other threads are just making, 50 ms at most.
FRAMEWIRE_API void remove_live_temporaries() noexcept;

/// Whether a manifest begins or goes on.
enum class OpenManifest : std::uint8_t {
  kNew,     ///< refuses a file that has content
  kResume,  ///< continues the file, if there is one; its rows are what is done
};

/// A manifest in a file: one JSON object a line, each one write() to a file opened for appending,
/// so that a row is lost or torn only with the machine, and several processes may share one. Makes
/// the file and its folder where missing; kResume cuts a torn last line off. A file whose first
/// line is no row is left as it is; a link is followed if this user or root owns it.
/// @return io_error; denied for another user's link; invalid_input where kNew finds content, or
///         kResume something else than rows
/// @cost kResume reads the file
[[nodiscard]] FRAMEWIRE_API Result<std::unique_ptr<Manifest>> open_manifest(const std::string& path,
                                                                            OpenManifest mode);

}  // namespace framewire::batch
