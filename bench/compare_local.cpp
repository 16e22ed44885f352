// compare_local [PHOTO.jpg]: requests a second, CPU time and sleeps a request of small pictures, by
// an engine in this process and by one in another process, through the memory that both share. A
// sleep is a voluntary context switch of any thread of either process.
//
// Engine: host threads, as many as cores. Inside the timing: handing in, resizing to half the size,
// taking answers. Inputs are in memory before. Each row
// is the median of five turns; ways alternate, so that a busy machine meets all of them.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <base/cores.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <service/local/local_server.hpp>
#include <sstream>
#include <tests/support/sample_jpeg.hpp>
#include <thread>
#include <vector>

namespace {

using namespace framewire;
using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr int kRequests = 6000;
constexpr int kGroup = 16;
constexpr int kTurns = 5;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}
double own_sleeps() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_nvcsw);
}
/// Of the threads that another process has now.
double sleeps_of(pid_t pid) {
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(task.path() / "status");
    for (std::string word; file >> word;) {
      double count = 0;
      if (word == "voluntary_ctxt_switches:" && file >> count) sum += count;
    }
  }
  return sum;
}
double own_cpu() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}
/// The processor time of another process, from /proc.
double cpu_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Bytes small_picture() {
  return sample::make({160, 120, JCS_YCbCr, 2, 2, 90}, [](int component, double x, double y) {
    return 128 + 70 * std::sin(x / 17 + component) + 45 * std::cos(y / 13 - component);
  });
}

ResizeOptions half() {
  ResizeOptions options;
  options.width_px = 80;
  return options;
}

void check(bool good) {
  if (!good) std::quick_exit(1);
}

template <typename Submitter>
void submit_all(Submitter& engine, std::span<const std::uint8_t> jpeg, int count) {
  for (int i = 0; i < count; i += kGroup) {
    std::vector<EngineRequest> requests;
    for (int k = 0; k < kGroup; ++k) {
      requests.push_back(
          {jpeg, half(), [](const Result<Resized>& made) { check(made.has_value()); }});
    }
    engine.submit(requests);
  }
  engine.drain();
}

void submit_views(Client& client, std::span<const std::uint8_t> jpeg, int count) {
  for (int i = 0; i < count; ++i) {
    client.submit_view(jpeg, half(),
                       [](const Result<ResizedView>& made) { check(made.has_value()); });
  }
  client.drain();
}

struct Way {
  const char* name;
  std::function<void()> run;
  std::vector<double> rates{};
  std::vector<double> cpus_us{};
  std::vector<double> sleeps{};
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

pid_t start_server(const std::string& path) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  service::local::LocalServerOptions settings;
  settings.path = path;
  // As framewire serve does.
  options.queue = 1024;
  settings.under_way = std::size_t{4} * base::usable_cores();
  Engine engine = Engine::make(options).value();
  const auto server = service::local::LocalServer::start(engine, settings);
  for (;;) ::pause();
}

}  // namespace

int main(int count, char** names) {
  const std::string path = fmt::format("/tmp/fw-bench-{}", ::getpid());
  const pid_t server = start_server(path);
  Bytes file = small_picture();
  if (count > 1) {
    std::ifstream in(names[1], std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
  Result<Client> first = fail(StatusCode::kInternal, "");
  while (!first) first = Client::connect(path);
  auto second = Client::connect(path).value();
  const auto slice = first->input_slice(file.size()).value();
  std::ranges::copy(file, slice.bytes.begin());
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  Engine engine = Engine::make(options).value();
  std::vector<Way> ways{
      {"engine in this process", [&] { submit_all(engine, file, kRequests); }},
      {"one client", [&] { submit_all(*first, file, kRequests); }},
      {"one client, slices and views", [&] { submit_views(*first, slice.bytes, kRequests); }},
      {"two clients", [&] {
         std::thread other([&] { submit_all(second, file, kRequests / 2); });
         submit_all(*first, file, kRequests / 2);
         other.join();
       }}};
  for (int turn = -1; turn < kTurns; ++turn) {
    for (Way& way : ways) {
      const double cpu = own_cpu() + cpu_of(server);
      const double sleeps = own_sleeps() + sleeps_of(server);
      const auto start = Clock::now();
      way.run();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (turn < 0) continue;  // warms
      way.rates.push_back(kRequests / seconds);
      way.cpus_us.push_back((own_cpu() + cpu_of(server) - cpu) * 1e6 / kRequests);
      way.sleeps.push_back((own_sleeps() + sleeps_of(server) - sleeps) / kRequests);
    }
  }
  fmt::print(
      "{} bytes each\n| way | requests/s | CPU a request, µs | least, most | sleeps a request |\n"
      "|---|---|---|---|---|\n",
      file.size());
  for (const Way& way : ways) {
    fmt::print("| {} | {:.0f} | {:.1f} | {:.1f}, {:.1f} | {:.2f} |\n", way.name, median(way.rates),
               median(way.cpus_us), *std::ranges::min_element(way.cpus_us),
               *std::ranges::max_element(way.cpus_us), median(way.sleeps));
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  std::filesystem::remove(path);
  return 0;
}
