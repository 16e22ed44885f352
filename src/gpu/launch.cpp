#include <algorithm>
#include <array>
#include <cstddef>
#include <gpu/launch.hpp>

namespace framewire::gpu {
namespace {

struct Set {
  const void* kernel = nullptr;
  int device = 0;
  KernelSetting setting = KernelSetting::kCarveout;
  bool operator==(const Set&) const = default;
};
struct Remembered {
  std::array<Set, 256> all{};
  std::size_t count = 0;
};
thread_local Remembered remembered;

}  // namespace

bool is_set(const void* kernel, KernelSetting setting) noexcept {
  Set wanted{kernel, 0, setting};
  if (cudaGetDevice(&wanted.device) != cudaSuccess) return false;
  const auto end = remembered.all.begin() + static_cast<std::ptrdiff_t>(remembered.count);
  return std::find(remembered.all.begin(), end, wanted) != end;
}

void remember(const void* kernel, KernelSetting setting) noexcept {
  Set made{kernel, 0, setting};
  if (remembered.count == remembered.all.size()) return;
  if (cudaGetDevice(&made.device) != cudaSuccess) return;
  remembered.all[remembered.count++] = made;
}

}  // namespace framewire::gpu
