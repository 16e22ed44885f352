#include <sys/mman.h>
#include <ucontext.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <tests/emulation/fiber.hpp>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// swapcontext() asks the kernel for the signal mask at each switch, which costs more than all else.
extern "C" void cuda_emulation_switch(void** save, void* load);
extern "C" void cuda_emulation_enter();
asm(R"(
.text
.type cuda_emulation_switch, @function
cuda_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_emulation_switch, .-cuda_emulation_switch
.type cuda_emulation_enter, @function
cuda_emulation_enter:
  movq %rbx, %rdi
  call *%r12
.size cuda_emulation_enter, .-cuda_emulation_enter
)");
#endif

namespace cuda_emulation {
namespace {

// What a sanitizer must hear about a stack. The scheduler's bounds are learned at the first switch.
struct Notices {
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
#endif
};

}  // namespace

struct Fiber::Impl {
  void* stack = nullptr;
  const std::function<void()>* body = nullptr;
  bool ended = true;
  Notices caller;
  Notices own;
#if defined(__x86_64__)
  void* caller_at = nullptr;
  void* own_at = nullptr;
#else
  ucontext_t caller_context{};
  ucontext_t own_context{};
#endif

  void to_fiber() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&caller.fake, stack, kStackBytes);
#endif
#if defined(__x86_64__)
    cuda_emulation_switch(&caller_at, own_at);
#else
    swapcontext(&caller_context, &own_context);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(caller.fake, nullptr, nullptr);
#endif
  }
  void to_caller() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(ended ? nullptr : &own.fake, caller.bottom, caller.bytes);
#endif
#if defined(__x86_64__)
    cuda_emulation_switch(&own_at, caller_at);
#else
    swapcontext(&own_context, &caller_context);
#endif
    arrived();
  }
  void arrived() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own.fake, &caller.bottom, &caller.bytes);
#endif
  }
  [[noreturn]] static void run(Impl* self) {
    self->arrived();
    (*self->body)();
    self->ended = true;
    self->to_caller();
    std::abort();
  }
#if !defined(__x86_64__)
  static void enter(unsigned low, unsigned high) {
    run(reinterpret_cast<Impl*>(std::uintptr_t{low} | std::uintptr_t{high} << 16 << 16));
  }
#endif
};

Fiber::Fiber() : impl_(std::make_unique<Impl>()) {
  impl_->stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (impl_->stack == MAP_FAILED) {
    std::fputs("emulation: no memory for a thread's stack\n", stderr);
    std::abort();
  }
  // A guard page: a stack that grows too far faults here.
  (void)::mprotect(impl_->stack, 4096, PROT_NONE);
}

Fiber::~Fiber() { (void)::munmap(impl_->stack, kStackBytes); }

void Fiber::start(const std::function<void()>& body) {
  impl_->body = &body;
  impl_->own = {};
  impl_->ended = false;
#if defined(__x86_64__)
  auto* top = reinterpret_cast<void**>(static_cast<char*>(impl_->stack) + kStackBytes);
  // As cuda_emulation_switch() pops it.
  *--top = reinterpret_cast<void*>(&cuda_emulation_enter);
  *--top = nullptr;                              // rbp
  *--top = impl_.get();                          // rbx
  *--top = reinterpret_cast<void*>(&Impl::run);  // r12
  for (int i = 0; i < 3; ++i) *--top = nullptr;  // r13 to r15
  impl_->own_at = top;
#else
  getcontext(&impl_->own_context);
  impl_->own_context.uc_stack.ss_sp = impl_->stack;
  impl_->own_context.uc_stack.ss_size = kStackBytes;
  const auto self = reinterpret_cast<std::uintptr_t>(impl_.get());
  makecontext(&impl_->own_context, reinterpret_cast<void (*)()>(&Impl::enter), 2,
              static_cast<unsigned>(self), static_cast<unsigned>(self >> 16 >> 16));
#endif
}

bool Fiber::resume() {
  impl_->to_fiber();
  return impl_->ended;
}

void Fiber::wait() { impl_->to_caller(); }

}  // namespace cuda_emulation
