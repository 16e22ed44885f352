// A worker process that does harm when a file says so: the text "fw-fault:WORD" at its end.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <framewire/completion_queue.hpp>
#include <framewire/engine.hpp>
#include <list>
#include <new>
#include <service/workers/handshake.hpp>
#include <service/workers/worker.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NOLINTBEGIN: names of the linker's
std::size_t
submit_really(framewire::Engine*, std::span<framewire::EngineRequest>, std::function<void()>) asm(
    "__real__ZN9framewire6Engine10try_submitESt4spa"
    "nINS_13EngineRequestELm18446744073709551615EESt"
    "8functionIFvvEE");
std::size_t
submit_with_faults(framewire::Engine*, std::span<framewire::EngineRequest>, std::function<void()>) asm(
    "__wrap__ZN9framewire6Engine10try_submitES"
    "t4spanINS_13EngineRequestELm1844674407370"
    "9551615EESt8functionIFvvEE");
// NOLINTEND

namespace {

/// What ends a process; some of it only one that is in its sandbox, "open" only one that is not.
void attack(std::string_view what) {
  if (what == "crash") (void)::raise(SIGSEGV);
  if (what == "exit") ::_exit(7);
  if (what == "hang") {
    while (true) ::usleep(1000);
  }
  if (what == "stop") (void)::raise(SIGSTOP);
  if (what == "open" && ::open("/etc/passwd", O_RDONLY) >= 0) ::_exit(8);
  if (what == "socket") (void)::socket(AF_INET, SOCK_STREAM, 0);
  if (what == "exec") {
    std::array<char*, 2> none{const_cast<char*>("true"), nullptr};
    (void)::execv("/bin/true", none.data());
  }
  if (what == "fork") (void)::fork();
  if (what == "ptrace") (void)::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr);
  if (what == "kill") (void)::kill(::getppid(), 0);
  if (what == "code") {
    (void)::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                 0);
  }
  if (what == "sleep") ::usleep(100'000);
  if (what == "memory") {
    // A gigabyte: where it is to be had, the process has no bound.
    const std::vector<char> much(std::size_t{1} << 30);
    if (much.back() == 0) ::_exit(9);
  }
}

/// "forge": becomes another file, and ends the process.
void forge(std::span<const std::uint8_t> jpeg) {
  const_cast<std::uint8_t&>(jpeg.back()) = 'E';
  (void)::raise(SIGSEGV);
}

std::string_view fault_of(std::span<const std::uint8_t> jpeg) {
  const std::string_view text(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
  constexpr std::string_view kMark = "fw-fault:";
  const auto at = text.rfind(kMark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + kMark.size());
}

constexpr std::string_view kDevice = "device";

/// "device:FILE" loses a GPU as often as FILE can be removed, which is once; "device" each time.
bool loses_device(std::string_view fault) {
  if (!fault.starts_with(kDevice)) return false;
  const std::string file(fault.substr(std::min(fault.size(), kDevice.size() + 1)));
  return file.empty() || ::unlink(file.c_str()) == 0;
}

/// "gone": says that it has left, which its engine never does.
constexpr std::string_view kGone = "gone";

void answer_lost(const framewire::EngineRequest& request, framewire::StatusCode code) {
  std::list<framewire::Completion> lost;
  lost.emplace_back().tag = request.tag;
  lost.front().result = framewire::fail(code, "lost by a test");
  request.completions->put(std::move(lost));
}

}  // namespace

std::size_t submit_with_faults(framewire::Engine* engine,
                               std::span<framewire::EngineRequest> requests,
                               std::function<void()> on_room) {
  for (const framewire::EngineRequest& request : requests) {
    if (fault_of(request.jpeg) == "forge") forge(request.jpeg);
    attack(fault_of(request.jpeg));
  }
  // What may lose something is looked at by itself, and so are those before it.
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string_view fault = fault_of(requests[i].jpeg);
    const bool is_gone = fault == kGone;
    if (!is_gone && !fault.starts_with(kDevice)) continue;
    if (i != 0) return submit_really(engine, requests.first(i), std::move(on_room));
    if (is_gone) {
      answer_lost(requests[0], framewire::StatusCode::kPeerLost);
      return 1;
    }
    if (!loses_device(fault)) return submit_really(engine, requests.first(1), std::move(on_room));
    answer_lost(requests[0], framewire::StatusCode::kDeviceLost);
    return 1;
  }
  return submit_really(engine, requests, std::move(on_room));
}

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "never-ready") return 5;
  (void)framewire::service::workers::run_worker(framewire::service::workers::kWorkerDescriptor);
  return 0;
}
