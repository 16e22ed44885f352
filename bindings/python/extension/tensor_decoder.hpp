// A TensorDecoder that threads share, and that knows after fork() that its threads are gone.
#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>
#include <extension/device_memory.hpp>
#include <framewire/tensor.hpp>
#include <memory>
#include <mutex>

namespace framewire::python {

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
  /// @return (the tensor or `out`, a list of None and Error, a list of the arguments of
  ///         framewire._tensor._make_image() and None). Raises what InputBuffer and OutputTensor
  ///         do, and EngineClosed in a child and behind close()
  nanobind::tuple decode(nanobind::handle jpegs, nanobind::handle crops, nanobind::handle flips,
                         nanobind::handle out, std::uint64_t stream);
  /// Waits for the batch under way, ends the threads and frees the memory. Batches stay.
  void close();
  /// As given, with the number of threads in place of 0.
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }

 private:
  /// Of a call: what is read, and where it is written.
  struct Batch;
  void read_arguments(Batch& batch, nanobind::handle jpegs, nanobind::handle crops,
                      nanobind::handle flips) const;
  void find_memory(Batch& batch, nanobind::handle out) const;
  [[nodiscard]] Result<void> run(Batch& batch);

  const pid_t process_;
  const TensorOptions options_;
  const int channels_;
  std::mutex mutex_;  // of what follows. Locked without the GIL, which is never asked for under it
  std::unique_ptr<TensorDecoder> decoder_;  ///< null behind close()
  std::shared_ptr<DeviceMemory> memory_;
};

/// Adds TensorDecoder to the module.
void bind_tensor_decoder(nanobind::module_& module);

}  // namespace framewire::python
