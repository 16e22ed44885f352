#include <engine/input_pool.hpp>

namespace framewire::engine {

Result<InputSlice> InputPool::take(std::size_t bytes) {
  if (bytes > kBlockBytes) {
    auto own = source_(bytes);
    if (own) own->bytes = own->bytes.first(bytes);
    return own;
  }
  const std::lock_guard lock(mutex_);
  if (rest_.bytes.size() < bytes) {
    rest_ = {};  // back first: it may be what comes next
    auto block = source_(kBlockBytes);
    if (!block) return fail(block.error());
    rest_ = std::move(*block);
  }
  InputSlice slice{rest_.bytes.first(bytes), rest_.keeper};
  rest_.bytes = rest_.bytes.subspan(bytes);
  return slice;
}

}  // namespace framewire::engine
