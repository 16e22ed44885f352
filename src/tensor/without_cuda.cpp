#include <tensor/device_batches.hpp>

namespace framewire::tensor {

Result<std::shared_ptr<DeviceBatches>> make_device_batches(
    const TensorOptions& /*options*/, std::shared_ptr<const ImageMaker> /*maker*/) {
  return fail(Status(StatusCode::kUnsupported, "this build has no CUDA; accepted: -1, the CPU")
                  .about("device"));
}

}  // namespace framewire::tensor
