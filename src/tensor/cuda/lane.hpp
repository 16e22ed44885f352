// Makes batches on a stream of its own.
#pragma once

#include <atomic>
#include <codec/coefficients.hpp>
#include <codec/cuda/transcoder.hpp>
#include <gpu/buffer.hpp>
#include <optional>
#include <tensor/cuda/batch_plan.hpp>
#include <tensor/image_maker.hpp>
#include <vector>

namespace framewire::tensor::cuda {

/// What all lanes of a call share.
struct Call {
  std::span<const TensorItem> items;
  std::uint8_t* out = nullptr;  ///< device
  std::uint64_t image_bytes = 0;
  cudaStream_t after = nullptr;  ///< writing begins when what it holds is over
  const void* tables = nullptr;  ///< device
  std::span<Result<TensorImage>> images;
  std::size_t batch = 1;  ///< images that a lane takes together
  std::atomic<std::size_t> next{0};
};

/// One thread's.
class TensorLane {
 public:
  [[nodiscard]] static Result<TensorLane> make(const TensorOptions& options,
                                               const ImageMaker& maker);

  /// Takes images until none are left. @return device_lost, busy
  [[nodiscard]] Result<void> run(Call& call);

 private:
  struct Entry {
    std::size_t index = 0;
    jpeg::JpegFile file;
    ImageGeometry geometry;
    /// What a host thread has decoded, of files that the device does not.
    std::optional<codec::Coefficients> coefficients{};
    codec::CodecOutcome outcome{};
  };

  TensorLane(const TensorOptions& options, const ImageMaker& maker,
             codec::cuda::Transcoder transcoder)
      : options_(&options), maker_(&maker), transcoder_(std::move(transcoder)), plan_(options) {}
  /// @return whether there were any
  [[nodiscard]] bool collect(Call& call);
  void prepare(Call& call, std::size_t index, std::uint64_t& bytes);
  [[nodiscard]] bool read_on_host(Entry& entry, const TensorItem& item,
                                  base::Deadline deadline) const;
  [[nodiscard]] codec::cuda::Item item_of(const Entry& entry) const;
  [[nodiscard]] Result<void> enqueue(Call& call);
  [[nodiscard]] Result<void> enqueue_tensors(const Call& call);
  [[nodiscard]] Result<void> take_results(Call& call);
  [[nodiscard]] Result<void> make_on_host(Call& call);

  const TensorOptions* options_;
  const ImageMaker* maker_;
  codec::cuda::Transcoder transcoder_;
  TensorBatchPlan plan_;
  gpu::Buffer staging_;
  gpu::Buffer device_;
  std::vector<Entry> entries_;
  std::vector<codec::cuda::Item> items_;
  std::vector<std::size_t> on_host_;  ///< images that the device does not take, or gave up
  std::vector<std::uint8_t> elements_;
  Workspace workspace_;
};

}  // namespace framewire::tensor::cuda
