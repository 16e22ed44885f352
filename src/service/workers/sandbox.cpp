#include <fmt/format.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <base/errno_code.hpp>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <service/workers/sandbox.hpp>
#include <system_error>

namespace framewire::service::workers {
namespace {

tl::unexpected<Status> cannot_confine(const char* what, int error) {
  return fail(base::code_of_errno(error),
              fmt::format("{}: {}", what, std::generic_category().message(error)));
}

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, Release>;

// Calls that need nothing but what the process has.
constexpr int kFree[] = {
    // Descriptors that are open already: the socket to the service, events, standard error.
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
    SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(shutdown), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(lseek),
    // Memory; code is kept out below.
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
    // Threads.
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(gettid), SCMP_SYS(getpid),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(membarrier), SCMP_SYS(exit),
    SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
    // Signals to itself.
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    // Time and numbers.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(getrandom), SCMP_SYS(getrusage), SCMP_SYS(sysinfo),
    SCMP_SYS(times)};

int allow(const Filter& filter, int call, std::initializer_list<scmp_arg_cmp> where) {
  return seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call,
                                static_cast<unsigned>(where.size()), where.begin());
}

/// @return 0, or an error of libseccomp's
int add_rules(const Filter& filter) {
  for (const int call : kFree) {
    // A call that this kind of CPU does not have is no loss.
    const int error = allow(filter, call, {});
    if (error != 0 && error != -EDOM) return error;
  }
  // Libraries look for files at odd moments: lcms2 for the time zone with the first profile, malloc
  // for the number of CPUs with the ninth thread. They do without; no picture is to blame.
  if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 0);
      error != 0) {
    return error;
  }
  const scmp_arg_cmp no_code{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0};
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    if (const int error = allow(filter, call, {no_code}); error != 0) return error;
  }
  // A thread, and nothing that is not one. What clone3() asks for cannot be looked at; without it
  // the C library does as before there was one.
  const scmp_arg_cmp thread{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD};
  if (const int error = allow(filter, SCMP_SYS(clone), {thread}); error != 0) return error;
  if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
      error != 0) {
    return error;
  }
  const auto self = static_cast<scmp_datum_t>(::getpid());
  if (const int error = allow(filter, SCMP_SYS(tgkill), {{0, SCMP_CMP_EQ, self, 0}}); error != 0) {
    return error;
  }
  return allow(filter, SCMP_SYS(prctl), {{0, SCMP_CMP_EQ, PR_SET_NAME, 0}});
}

}  // namespace

Result<void> tie_to_service(pid_t service) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) (void)::signal(number, SIG_IGN);
  const rlimit none{0, 0};
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0 ||
      ::setrlimit(RLIMIT_CORE, &none) != 0) {
    return cannot_confine("cannot prepare a worker process", errno);
  }
  // It may have ended before it was tied to.
  if (::getppid() != service) return fail(StatusCode::kPeerLost, "the service has ended");
  return {};
}

Result<void> limit_memory(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) return cannot_confine("cannot bound memory", errno);
  return {};
}

Result<void> enter_sandbox() {
  const Filter filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (filter == nullptr) return fail(StatusCode::kUnsupported, "there are no seccomp filters");
  int error = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (error == 0) error = add_rules(filter);
  if (error == 0) error = seccomp_load(filter.get());  // sets no_new_privs, too
  if (error == 0) return {};
  return fail(StatusCode::kUnsupported,
              fmt::format("seccomp: {}", std::generic_category().message(-error)));
}

}  // namespace framewire::service::workers
