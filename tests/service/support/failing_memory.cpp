#include <pthread.h>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tests/service/support/failing_memory.hpp>

namespace framewire::service::test {
namespace {

std::atomic<long> left = 0;  // allocations until one fails; 0: none does, or it has come
thread_local bool counted = false;

bool is_counted() noexcept {
  if (counted) return true;
  char name[16] = {};
  return ::pthread_getname_np(::pthread_self(), name, sizeof name) == 0 &&
         std::strncmp(name, "fw-", 3) == 0;
}

// Whoever allocates may find another errno behind it, and then any: here always one that stands for
// a shortage. So what reads errno too late says busy where another code is due.
constexpr int kErrnoBehind = ENOBUFS;

bool fails_now() noexcept {
  if (left.load(std::memory_order_relaxed) <= 0 || !is_counted()) return false;
  return left.fetch_sub(1) == 1;
}

}  // namespace

FailingMemory::FailingMemory(long n) : n_(n) {
  counted = true;
  left = n;
}

FailingMemory::~FailingMemory() {
  left = 0;
  counted = false;
}

bool FailingMemory::failed() const { return left.load() <= 0; }

long FailingMemory::allocations() const { return n_ - left.load(); }

}  // namespace framewire::service::test

// The array forms call these, save under AddressSanitizer, whose array forms belong together.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  using namespace framewire::service::test;
  void* const memory = fails_now() ? nullptr : std::malloc(size != 0 ? size : 1);
  errno = kErrnoBehind;
  return memory;
}
void* operator new(std::size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
