// Makes one group of a batch's images at a time, on a stream of its own.
#pragma once

#include <codec/coefficients.hpp>
#include <codec/cuda/transcoder.hpp>
#include <cstdint>
#include <gpu/buffer.hpp>
#include <memory>
#include <optional>
#include <span>
#include <tensor/cuda/batch_plan.hpp>
#include <tensor/cuda/call.hpp>
#include <tensor/image_maker.hpp>
#include <vector>

namespace framewire::tensor::cuda {

/// begin(), then prepare() for each image, by any threads at once, then enqueue(), then finish();
/// from group to group.
class TensorLane {
 public:
  /// @param load  counts what all lanes of a device have under way
  [[nodiscard]] static Result<TensorLane> make(const TensorOptions& options,
                                               std::shared_ptr<codec::cuda::EntropyLoad> load);

  /// A guess of what an image takes of the device's memory: coefficients of 16 bits, planes, rows
  /// filtered along one axis, and what is kept of each segment between restart markers.
  [[nodiscard]] static std::uint64_t estimate_device_bytes(const jpeg::JpegFile& file,
                                                           const ImageGeometry& geometry);

  /// Takes memory for the files of `count` images of a call from `first` on. Where there is none,
  /// all of them are left over. @param call  stays until finish() has returned
  /// @return device_lost
  [[nodiscard]] Result<void> begin(Call& call, std::size_t first, std::size_t count);
  /// Copies the group's n-th file to where the device copies from, parses it, and reads what host
  /// threads must read.
  void prepare(std::size_t n);
  /// Enqueues the group. Images that together need more of the device's memory than one batch may
  /// take are made in several, and all but the last awaited. @return device_lost
  [[nodiscard]] Result<void> enqueue();
  /// Waits for what is under way, and tells its call; nothing is afterwards, whatever happens.
  void finish() noexcept;
  [[nodiscard]] bool busy() const noexcept { return !part_.empty(); }
  /// Whether a group of this call is under way.
  [[nodiscard]] bool serves(const Call& call) const noexcept { return call_ == &call && busy(); }

 private:
  struct Entry {
    std::size_t index = 0;
    std::vector<std::uint8_t> head;
    bool head_only = false;  ///< whether `file` was read from `head`
    jpeg::JpegFile file;
    ImageGeometry geometry;
    /// What a host thread has decoded, of files that the device does not.
    std::optional<codec::Coefficients> coefficients{};
    codec::CodecOutcome outcome{};
  };
  /// Images of a group that are made together.
  using Part = std::span<std::optional<Entry>>;

  TensorLane(const TensorOptions& options, codec::cuda::Transcoder transcoder)
      : options_(&options), transcoder_(std::move(transcoder)), plan_(options) {}
  [[nodiscard]] std::optional<Entry> read(std::size_t n);
  /// Fills entry.file. @param bytes  the whole file, as copied. @return whether it can be decoded
  [[nodiscard]] bool read_file(Entry& entry, std::span<const std::uint8_t> bytes,
                               base::Deadline deadline) const;
  [[nodiscard]] codec::cuda::Item item_of(const Entry& entry) const;
  [[nodiscard]] Result<void> enqueue_part(Part part);
  [[nodiscard]] Result<void> enqueue_tensors();
  /// What became of the images of a part that has been made.
  void tell(Part part);
  void leave(Part part);

  const TensorOptions* options_;
  codec::cuda::Transcoder transcoder_;
  TensorBatchPlan plan_;
  gpu::Buffer files_;  ///< pinned
  gpu::Buffer staging_;
  gpu::Buffer device_;
  Call* call_ = nullptr;              ///< the group's
  std::size_t first_ = 0;             ///< image of the group
  bool begun_ = false;                ///< whether files_ has room for the group
  std::vector<std::size_t> offsets_;  ///< of the group's files in files_
  std::vector<std::optional<Entry>> entries_;
  Part part_;  ///< of entries_, that is under way
  std::vector<codec::cuda::Item> items_;
};

}  // namespace framewire::tensor::cuda
