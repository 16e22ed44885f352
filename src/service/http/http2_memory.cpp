#include <algorithm>
#include <cstring>
#include <new>
#include <service/http/http2_memory.hpp>

namespace framewire::service::http {
/// Stands in front of what nghttp2 gets.
struct alignas(std::max_align_t) Http2Memory::Block {
  std::size_t bytes;  ///< behind it
  Block* before;
  Block* after;

  static Block* of(void* memory) noexcept { return static_cast<Block*>(memory) - 1; }
};

namespace {

Http2Memory& memory_of(void* user_data) noexcept { return *static_cast<Http2Memory*>(user_data); }

}  // namespace

Http2Memory::Http2Memory() noexcept : functions_{} {
  functions_.mem_user_data = this;
  functions_.malloc = [](std::size_t bytes, void* user_data) {
    return memory_of(user_data).take(bytes);
  };
  functions_.free = [](void* memory, void* user_data) { memory_of(user_data).give_back(memory); };
  functions_.calloc = [](std::size_t count, std::size_t size, void* user_data) -> void* {
    if (size != 0 && count > kMaxBytes / size) return nullptr;
    void* const memory = memory_of(user_data).take(count * size);
    if (memory != nullptr) std::memset(memory, 0, count * size);
    return memory;
  };
  functions_.realloc = [](void* before, std::size_t bytes, void* user_data) -> void* {
    void* const memory = memory_of(user_data).take(bytes);
    if (memory == nullptr || before == nullptr) return memory;
    std::memcpy(memory, before, std::min(bytes, Block::of(before)->bytes));
    memory_of(user_data).give_back(before);
    return memory;
  };
}

Http2Memory::~Http2Memory() {
  while (first_ != nullptr) give_back(first_ + 1);
}

void* Http2Memory::take(std::size_t bytes) noexcept {
  if (bytes > kMaxBytes || used_bytes_ + bytes > kMaxBytes) return nullptr;
  void* const memory = ::operator new(sizeof(Block) + bytes, std::nothrow);
  if (memory == nullptr) return nullptr;
  used_bytes_ += bytes;
  auto* const block = new (memory) Block{bytes, nullptr, first_};
  if (first_ != nullptr) first_->before = block;
  first_ = block;
  return block + 1;
}

void Http2Memory::give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  Block* const block = Block::of(memory);
  used_bytes_ -= block->bytes;
  (block->before != nullptr ? block->before->after : first_) = block->after;
  if (block->after != nullptr) block->after->before = block->before;
  ::operator delete(block);
}

}  // namespace framewire::service::http
