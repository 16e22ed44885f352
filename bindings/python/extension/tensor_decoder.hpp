// A TensorDecoder that threads share, and that knows after fork() that its threads are gone.
#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>
#include <framewire/tensor.hpp>
#include <memory>
#include <mutex>

namespace framewire::python {

/// Decodes one batch at a time; other threads wait for their turn, without the GIL.
class DecoderHandle {
 public:
  explicit DecoderHandle(TensorDecoder&& decoder);
  /// Ends the decoder's threads; in a child of its process there are none, and it is left as it is.
  ~DecoderHandle();
  DecoderHandle(const DecoderHandle&) = delete;
  DecoderHandle& operator=(const DecoderHandle&) = delete;

  /// @param jpegs  a list of objects with the buffer protocol
  /// @param crops  none, or a list of (left, top, width, height) and None
  /// @param flips  none, or a list
  /// @param out    none, or where to write
  /// @return (the tensor or `out`, a list of None and Error, a list of the arguments of
  ///         framewire._tensor.make_image() and None). Raises what InputBuffer and OutputTensor do,
  ///         and EngineClosed in a child
  nanobind::tuple decode(nanobind::handle jpegs, nanobind::handle crops, nanobind::handle flips,
                         nanobind::handle out);
  /// As given, with the number of threads in place of 0.
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }

 private:
  const pid_t process_;
  const TensorOptions options_;
  std::mutex mutex_;  // of the decoder. Locked without the GIL, which is never asked for under it
  std::unique_ptr<TensorDecoder> decoder_;
};

/// Adds TensorDecoder to the module.
void bind_tensor_decoder(nanobind::module_& module);

}  // namespace framewire::python
