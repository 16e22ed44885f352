// Others write to registered memory while an engine reads it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <codec/batch_codec.hpp>
#include <csignal>
#include <cstring>
#include <jpeg/markers.hpp>
#include <new>
#include <tests/unit/engine/fake_lanes.hpp>
#include <tests/unit/engine/metadata_parts.hpp>

namespace framewire::engine {
namespace {

using namespace fake;

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Memory that processes share, in whole pages.
class SharedPages {
 public:
  explicit SharedPages(std::size_t bytes)
      : bytes_((bytes + page_bytes() - 1) / page_bytes() * page_bytes()),
        at_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedPages() { ::munmap(at_, bytes_); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  [[nodiscard]] std::span<std::uint8_t> all() const {
    return {static_cast<std::uint8_t*>(at_), bytes_};
  }

 private:
  std::size_t bytes_;
  void* at_;
};

Result<Resized> resize(Dispatcher& engine, std::span<const std::uint8_t> jpeg,
                       const ResizeOptions& options) {
  std::promise<Result<Resized>> answer;
  EngineRequest request{jpeg, options, [&](Result<Resized> r) { answer.set_value(std::move(r)); }};
  engine.submit({&request, 1});
  return answer.get_future().get();
}

// What happens when the second page of a file is first touched: its first page becomes another.
std::uint8_t* g_first_page = nullptr;
const std::uint8_t* g_other = nullptr;
std::atomic<int> g_touched{0};

void on_touch(int, siginfo_t* fault, void*) {
  const auto* at = static_cast<const std::uint8_t*>(fault->si_addr);
  const std::uint8_t* rest = g_first_page + page_bytes();
  if (g_first_page == nullptr || at < rest || at >= rest + page_bytes()) ::_exit(99);
  std::memcpy(g_first_page, g_other, page_bytes());
  ::mprotect(g_first_page + page_bytes(), page_bytes(), PROT_READ | PROT_WRITE);
  ++g_touched;
}

Bytes file_of_two_pages() {
  const auto noise = [](int component, double x, double y) {
    return 128 + 100 * std::sin(x * 1.7 + y * 2.3 + component);
  };
  for (int side = 40;; side += 8) {
    Bytes file = sample::make({side, side, JCS_YCbCr, 2, 2, 90}, noise);
    if (file.size() > page_bytes() + 400) return file;
  }
}

/// The file with other quantisers, and two pixels less wide.
Bytes with_other_head(Bytes file) {
  const auto find = [&](std::uint8_t marker) {
    const Bytes code = {0xFF, marker};
    return std::search(file.begin(), file.end(), code.begin(), code.end());
  };
  const auto tables = find(jpeg::marker::kDqt);
  for (std::ptrdiff_t i = 0; i < 10; ++i) tables[5 + i] = static_cast<std::uint8_t>(40 + i);
  const auto frame = find(jpeg::marker::kSof0);
  frame[8] = static_cast<std::uint8_t>(frame[8] - 2);
  return file;
}

TEST(RegisteredMemoryAttack, AFileThatTurnsIntoAnotherHalfwayIsOneOfTheTwo) {
  ResizeOptions options = width(32);
  options.metadata = Metadata::kKeep;
  const Bytes one_file = file_of_two_pages();
  const Bytes other_file = with_other_head(one_file);
  const Bytes of_one = Resizer().resize(one_file, options)->bytes;
  const Bytes of_other = Resizer().resize(other_file, options)->bytes;
  ASSERT_NE(of_one, of_other);

  struct sigaction catching {};
  struct sigaction before {};
  catching.sa_sigaction = on_touch;
  catching.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGSEGV, &catching, &before), 0);
  const auto engine = make({});
  const SharedPages pages(2 * page_bytes());
  ASSERT_TRUE(engine->inputs()->enter_registered(pages.all()));
  g_first_page = pages.all().data();
  g_other = other_file.data();  // of which the first page is taken
  for (int i = 0; i < 20; ++i) {
    std::copy(one_file.begin(), one_file.end(), pages.all().begin());
    const int touched = g_touched;
    ::mprotect(g_first_page + page_bytes(), page_bytes(), PROT_NONE);
    const auto made = resize(*engine, pages.all().first(one_file.size()), options);
    EXPECT_EQ(g_touched, touched + 1);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->bytes == of_one || made->bytes == of_other)
        << "the size of one and the tables of the other";
  }
  g_first_page = nullptr;
  ::sigaction(SIGSEGV, &before, nullptr);
}

/// Another process that writes to `memory` without pause, and ends with this object.
class Scribbler {
 public:
  Scribbler(std::span<std::uint8_t> memory, std::size_t file_bytes) {
    const ::pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    std::uint64_t random = 88172645463325252u;
    auto* bytes = reinterpret_cast<volatile std::uint8_t*>(memory.data());
    for (;;) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      // Mostly the head, where lengths and tables are; back at once, so that most reads begin well.
      const std::size_t reach =
          random % 4 == 0 ? file_bytes : std::min<std::size_t>(700, file_bytes);
      const std::size_t at = (random >> 8) % reach;
      const std::uint8_t was = bytes[at];
      bytes[at] = static_cast<std::uint8_t>(random >> 40);
      for (unsigned i = 0; i < (random >> 50) % 512; ++i) bytes[at] = bytes[at];
      bytes[at] = was;
    }
  }
  ~Scribbler() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Scribbler(const Scribbler&) = delete;
  Scribbler& operator=(const Scribbler&) = delete;

 private:
  ::pid_t child_ = -1;
};

struct Case {
  const char* name;
  Bytes jpeg;
};

std::vector<Case> cases() {
  Bytes cut = photos()[1];
  cut.resize(cut.size() - 2);
  return {{"baseline", test::with_exif(photos()[0], 6)},
          {"progressive", progressive_photo()},
          {"gain map", test::ultra_hdr()},
          {"handed on", sample::make({64, 48, JCS_YCbCr, 2, 2, 30}, smooth)},
          {"cut", cut}};
}

TEST(RegisteredMemoryAttack, AnotherProcessWritesToInputsUnderWay) {
  for (const Case& one_case : cases()) {
    SharedPages pages(one_case.jpeg.size() + codec::kPinnedGuardBytes);
    std::copy(one_case.jpeg.begin(), one_case.jpeg.end(), pages.all().begin());
    const Scribbler scribbler(pages.all(), one_case.jpeg.size());
    Script script;
    auto devices = devices_of({&script}, 2);
    devices[0].pin_input = [](std::span<std::uint8_t>) -> Result<std::shared_ptr<void>> {
      return std::make_shared<int>(0);
    };
    const auto with_lanes = make(std::move(devices));
    const auto without = make({});
    for (Dispatcher* engine : {with_lanes.get(), without.get()}) {
      ASSERT_TRUE(engine->inputs()->enter_registered(pages.all()));
      std::atomic<int> internal{0};
      std::atomic<int> made{0};
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < until) {
        std::vector<EngineRequest> requests(32);
        for (EngineRequest& request : requests) {
          request = {pages.all().first(one_case.jpeg.size()), {}, [&](const Result<Resized>& r) {
                       if (r) ++made;
                       if (!r && r.error().code() == StatusCode::kInternal) ++internal;
                     }};
          request.options.metadata = Metadata::kKeep;
          request.options.limits.max_input_pixels = 1 << 20;
        }
        engine->submit(requests);
        engine->drain();
      }
      EXPECT_EQ(internal, 0) << one_case.name;
      EXPECT_GT(made, 0) << one_case.name;
      // Nobody else is harmed.
      const auto neighbour = one(*engine, photos()[4], width(32));
      ASSERT_TRUE(neighbour);
      EXPECT_EQ(neighbour->bytes, Resizer().resize(photos()[4], width(32))->bytes);
      engine->inputs()->forget_registered(pages.all());
    }
  }
}

}  // namespace
}  // namespace framewire::engine
