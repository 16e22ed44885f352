// Where a batch's outputs go: a folder, or whatever somebody writes a Sink for.
#pragma once

#include <cstdint>
#include <framewire/batch/source.hpp>
#include <framewire/export.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace framewire::batch {

/// One output on its way.
struct Output {
  std::string label;                       ///< as Sink::label() of the name
  std::string name;                        ///< as Input::name
  std::string input;                       ///< label of its input
  std::optional<Permissions> permissions;  ///< of its input; unset: anybody may read it
  bool made_before = false;                ///< the manifest says that an earlier run has made one
};

/// Why an output was not committed.
struct WriteError {
  Status status;
  /// The error would meet every other output too: no space, a bucket that is gone, keys that have
  /// expired. The batch stops: what is not done is left for --resume.
  bool environment = false;
};
using WriteResult = tl::expected<void, WriteError>;

/// What a sink is told when a batch begins.
struct BeginSink {
  std::vector<FileId> no_outputs;  ///< files, such as the manifest, that no output may replace
  bool resumed = false;            ///< an earlier batch wrote here, and may have died doing so
};

/// Takes outputs, each of them whole or not at all. What its functions throw counts as an error:
/// busy for std::bad_alloc, otherwise internal. All members but begin() and finish() may be called
/// by any number of threads at once: by as many as Settings::jobs.
class FRAMEWIRE_API Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  /// What messages and the manifest call the output of that name. Does not block.
  [[nodiscard]] virtual std::string label(const std::string& name) const = 0;

  /// Called once, before anything else. @return any error: the batch does not begin
  [[nodiscard]] virtual Result<void> begin(const BeginSink&) { return {}; }

  /// What lies under a name: asked only for names of which the manifest says that they were made.
  /// May wait.
  /// @return its size in bytes; nothing where there is none, or none that is whole. Any error,
  ///         which is that of this input alone
  [[nodiscard]] virtual Result<std::optional<std::uint64_t>> find(const std::string& name) const;

  /// Whether an input may be read, before it is: not where its output would replace an input, or
  /// where it is an output of this very batch. May wait.
  /// @return any error, which is that of this input alone
  [[nodiscard]] virtual Result<void> admit(const Input&, const OpenInput&) const { return {}; }

  /// Takes an output; blocks until it is there, as safe as this sink makes things. A batch that is
  /// stopped waits for it, so whatever may wait for ever needs a deadline of its own. While many
  /// commits wait, more jobs make up for it.
  ///
  /// Afterwards the name has the new bytes, all of them; on failure it has what it had before. A
  /// sink that may hold inputs of its batch refuses to replace them. Names come once each, in any
  /// order.
  /// @param bytes  host, a JPEG; stays until the return
  [[nodiscard]] virtual WriteResult commit(const Output& output,
                                           std::span<const std::uint8_t> bytes) = 0;

  /// Called once, after the last commit, also of a batch that was stopped; not where begin()
  /// failed. For what closes the whole, such as the end of a tar.
  /// @return any error, which becomes Summary::stopped_by where there is no other
  [[nodiscard]] virtual Result<void> finish() { return {}; }
};

inline Result<std::optional<std::uint64_t>> Sink::find(const std::string&) const {
  return std::optional<std::uint64_t>();
}

}  // namespace framewire::batch
