// What stands for cuda/device_memory.cpp in a package without CUDA.
#include <extension/device_memory.hpp>

namespace framewire::python {

namespace {

tl::unexpected<Status> no_cuda() {
  return fail(
      Status(StatusCode::kUnsupported,
             "this build of the package has no CUDA; accepted: 'cpu', or a package that was "
             "built with CUDA (./dev wheel --cuda)")
          .about("device"));
}

}  // namespace

Result<std::shared_ptr<DeviceMemory>> DeviceMemory::make(int /*device*/) { return no_cuda(); }
Result<void> check_stream(CudaStream /*stream*/, int /*device*/) { return no_cuda(); }
Result<void> synchronise(CudaStream /*stream*/, int /*device*/) { return no_cuda(); }
Result<void> copy_to_host(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                          int /*device*/) {
  return no_cuda();
}

}  // namespace framewire::python
