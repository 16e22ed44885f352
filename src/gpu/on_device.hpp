// The current device, for the length of a scope.
#pragma once

#include <cuda_runtime_api.h>

namespace framewire::gpu {

/// Makes a device current and the earlier one current again: a library must not change what its
/// caller's thread works on.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    if (before_ != device) (void)cudaSetDevice(device);
    device_ = device;
  }
  ~OnDevice() {
    if (before_ != device_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  int device_ = 0;
};

}  // namespace framewire::gpu
