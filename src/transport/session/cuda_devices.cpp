// The public way to devices, in builds with CUDA and without.
#include <framewire/transport.hpp>
#ifdef FRAMEWIRE_HAS_CUDA
#include <transport/cuda/devices.hpp>
#endif

namespace framewire::transport {

Result<DeviceMemory*> cuda_devices() {
#ifdef FRAMEWIRE_HAS_CUDA
  return cuda::devices();
#else
  return fail(StatusCode::kUnsupported, "this build has no CUDA; FRAMEWIRE_CUDA=ON has");
#endif
}

}  // namespace framewire::transport
