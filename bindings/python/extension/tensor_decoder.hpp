// A TensorDecoder that threads share, and that knows after fork() that its threads are gone.
#pragma once

#include <nanobind/nanobind.h>
#include <extension/device_memory.hpp>
#include <extension/without_gil.hpp>
#include <framewire/tensor.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace framewire::python {

class BatchUnderWay;

/// Decodes one batch at a time; other threads wait for their turn, without the GIL.
class DecoderHandle {
 public:
  /// @param memory  where batches of a decoder with a device are made; null for the CPU
  DecoderHandle(TensorDecoder&& decoder, std::shared_ptr<DeviceMemory> memory);
  /// As close(); in a child of the process there is nothing to end, and all is left as it is.
  ~DecoderHandle();
  DecoderHandle(const DecoderHandle&) = delete;
  DecoderHandle& operator=(const DecoderHandle&) = delete;

  /// @param jpegs   a list of objects with the buffer protocol
  /// @param crops   none, or a list of (left, top, width, height) and None
  /// @param flips   none, or a list
  /// @param out     none, or where to write
  /// @param stream  0, or a cudaStream_t of the decoder's device
  /// @return (the tensor or `out`, DecodedImages). Raises what InputBuffer and OutputTensor do, and
  ///         EngineClosed in a child and behind close()
  nanobind::tuple decode(nanobind::handle jpegs, nanobind::handle crops, nanobind::handle flips,
                         nanobind::handle out, std::uint64_t stream);
  /// As decode(), of a decoder with a device: returns when all files have been copied and all work
  /// is under way. @param self  this object, which is kept
  [[nodiscard]] static std::unique_ptr<BatchUnderWay> begin(
      nanobind::handle_t<DecoderHandle> self, nanobind::handle jpegs, nanobind::handle crops,
      nanobind::handle flips, nanobind::handle out, std::uint64_t stream);
  /// Waits for batches under way, ends the threads and frees the memory. Batches stay; those under
  /// way are lost.
  void close();
  /// Whether this process was made by fork() from the one that made the decoder.
  [[nodiscard]] bool forked() const noexcept { return fork_count() != fork_count_; }
  /// As given, with the number of threads in place of 0.
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }

 private:
  friend class BatchUnderWay;
  /// Of a call: what is read, and where it is written.
  struct Batch;
  /// Reads the arguments of a call. Raises as decode().
  [[nodiscard]] std::unique_ptr<Batch> make_batch(nanobind::handle jpegs, nanobind::handle crops,
                                                  nanobind::handle flips, nanobind::handle out,
                                                  std::uint64_t stream) const;
  void read_arguments(Batch& batch, nanobind::handle jpegs, nanobind::handle crops,
                      nanobind::handle flips) const;
  void find_memory(Batch& batch, nanobind::handle out) const;
  [[nodiscard]] Result<void> run(Batch& batch);
  /// Under mutex_: where a batch on the device is written. @return busy, device_lost
  [[nodiscard]] Result<DeviceTensorView> find_place(Batch& batch);
  /// Under mutex_. @return invalid_input for memory of a batch that is under way
  [[nodiscard]] Result<void> check_place(const DeviceTensorView& place) const;
  [[nodiscard]] Result<void> begin(BatchUnderWay& batch);
  [[nodiscard]] static nanobind::tuple result_of(Batch& batch, const Result<void>& done);

  const unsigned fork_count_;
  const TensorOptions options_;
  const int channels_;
  std::mutex mutex_;  // of what follows. Locked without the GIL, which is never asked for under it
  std::unique_ptr<TensorDecoder> decoder_;  ///< null behind close()
  std::vector<BatchUnderWay*> under_way_;
  std::shared_ptr<DeviceMemory> memory_;
};

/// A batch that a decoder's device makes. It holds what the batch is made of, and the decoder.
/// Where nobody waits for it, its end does, without the GIL.
class BatchUnderWay {
 public:
  BatchUnderWay(nanobind::object decoder, std::unique_ptr<DecoderHandle::Batch> batch);
  ~BatchUnderWay();
  BatchUnderWay(const BatchUnderWay&) = delete;
  BatchUnderWay& operator=(const BatchUnderWay&) = delete;

  /// @return as DecoderHandle::decode(), once. Raises as that, EngineClosed where the decoder was
  ///         closed meanwhile, and Internal a second time
  [[nodiscard]] nanobind::tuple wait();

 private:
  friend class DecoderHandle;
  [[nodiscard]] DecoderHandle& decoder() const;
  /// Under the decoder's mutex_.
  void forget();

  nanobind::object decoder_;
  // Under the decoder's mutex_.
  std::unique_ptr<DecoderHandle::Batch> batch_;  ///< null: waited for
  std::optional<TensorBatch> made_;      ///< null: not begun, over, or the decoder is closed
  std::span<const std::uint8_t> place_;  ///< device: where it is written
};

/// Adds TensorDecoder to the module.
void bind_tensor_decoder(nanobind::module_& module);

}  // namespace framewire::python
