// What the CUDA codec would do with a file: known without a device.
#pragma once

#include <color/converter.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>

namespace framewire::engine {

/// Whether a host thread decodes the entropy bytes: the device's kernels take no arithmetic coding,
/// and progressive files only where many wait (Lane::run_progressive()).
[[nodiscard]] constexpr bool entropy_on_host(const jpeg::FrameHeader& frame) noexcept {
  return frame.process == jpeg::Process::kProgressive || frame.arithmetic;
}

/// @param converter  of plans that convert a profile, else null
/// @return unsupported where this build has no CUDA, or for what would go to the CPU codec, saying
///         why
[[nodiscard]] Result<void> check_for_cuda(const jpeg::JpegFile& file, const plan::Plan& plan,
                                          const color::Converter* converter);

}  // namespace framewire::engine
