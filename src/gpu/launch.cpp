#include <algorithm>
#include <array>
#include <cstddef>
#include <gpu/launch.hpp>

namespace framewire::gpu {

bool is_first(const void* kernel, KernelSetting setting) noexcept {
  struct Use {
    const void* kernel;
    int device;
    KernelSetting setting;
    bool operator==(const Use&) const = default;
  };
  thread_local std::array<Use, 256> uses{};
  thread_local std::size_t count = 0;
  Use use{kernel, 0, setting};
  if (cudaGetDevice(&use.device) != cudaSuccess) return true;
  const auto end = uses.begin() + static_cast<std::ptrdiff_t>(count);
  if (std::find(uses.begin(), end, use) != end) return false;
  if (count < uses.size()) uses[count++] = use;
  return true;
}

}  // namespace framewire::gpu
