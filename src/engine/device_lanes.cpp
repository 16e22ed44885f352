#include <engine/device_lanes.hpp>

#ifdef FRAMEWIRE_HAS_CUDA
#include <engine/cuda_lanes.hpp>
#endif

namespace framewire::engine {

#ifdef FRAMEWIRE_HAS_CUDA
Result<std::vector<DeviceLanes>> find_devices(const EngineOptions& options) {
  return find_cuda_devices(options);
}
#else
Result<std::vector<DeviceLanes>> find_devices(const EngineOptions& /*options*/) {
  return fail(Status(StatusCode::kUnsupported,
                     "this build has no GPU codec; it has auto, turbo and reference")
                  .about("codec"));
}
#endif

}  // namespace framewire::engine
