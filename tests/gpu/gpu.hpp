// What the tests that need a GPU share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace framewire::gpu_tests {

/// Whether there is a device that can be used.
[[nodiscard]] inline bool have_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// Whether the devices are threads of this machine's CPU (tests/emulation).
[[nodiscard]] inline bool emulated() {
#if defined(FRAMEWIRE_CUDA_EMULATION)
  return true;
#else
  return false;
#endif
}

/// To be called from SetUp(): there a skip also keeps the body from running.
inline void require_gpu() {
  if (!have_gpu()) GTEST_SKIP() << "no CUDA device here";
}

/// What the library leaves pending is taken for the fault of whoever asks next.
inline void expect_no_error_pending() {
  if (!have_gpu()) return;
  EXPECT_STREQ(cudaGetErrorName(cudaGetLastError()), "cudaSuccess");
}

/// The fixture of a test that needs no other.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override { require_gpu(); }
  void TearDown() override { expect_no_error_pending(); }
};

/// The same for a matrix.
template <typename Cell>
class GpuTestWith : public testing::TestWithParam<Cell> {
 protected:
  void SetUp() override { require_gpu(); }
  void TearDown() override { expect_no_error_pending(); }
};

}  // namespace framewire::gpu_tests
