// A batch as NumPy reads it, and what its rows are.
#pragma once

#include <batch/file_place.hpp>
#include <batch/permissions.hpp>
#include <batch/temporary_file.hpp>
#include <cstdint>
#include <framewire/tensor.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace framewire::app {

/// Narrows what all inputs so far allow by another one: an array may be read by nobody who may not
/// read each of them.
void narrow(std::optional<batch::Permissions>& all, const batch::Permissions& one);

/// An array whose first side is known only at its end; appears whole or not at all.
///
/// Source: numpy.lib.format, version 1.0. bfloat16, of which NumPy knows nothing, is written as two
/// raw bytes an element, "|V2", as ml_dtypes does.
class NpyFile {
 public:
  /// @return io_error, denied
  [[nodiscard]] static Result<NpyFile> open(const std::string& path, const TensorOptions& options);

  /// Appends `rows` images. @return io_error
  [[nodiscard]] Result<void> append(std::span<const std::uint8_t> bytes, std::uint64_t rows);
  /// Gives the file its shape, its permissions and its name.
  /// @param source  of the inputs; null: anybody's
  /// @return io_error
  [[nodiscard]] Result<void> close(const batch::Permissions* source);

 private:
  NpyFile(std::string path, batch::FilePlace place, batch::TemporaryFile file,
          const TensorOptions& options);

  std::string path_;
  std::unique_ptr<batch::FilePlace> place_;  ///< does not move: the temporary file lies in it
  batch::TemporaryFile file_;
  TensorType type_;
  std::string shape_;  ///< behind the first side
  std::uint64_t rows_ = 0;
};

/// Where the rows of an array at `path` are told: with .jsonl in place of .npy.
[[nodiscard]] std::string rows_path(const std::string& path);

}  // namespace framewire::app
