#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <command_line/command.hpp>
#include <commands/bench/serve/processes.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

namespace framewire::app::bench_serve {

std::atomic<bool> g_interrupted{false};

namespace {

using base::Clock;
using base::FileDescriptor;

/// So often a wait looks whether it is to give up.
constexpr std::chrono::milliseconds kSlice{50};
constexpr std::size_t kKeptErrors = 4096;
/// Answers are a line of numbers.
constexpr std::size_t kMaxOutput = 1u << 20;

/// Reads what is there. @return whether the end has come
bool read_some(FileDescriptor& end, std::string& text) {
  char buffer[16'384];
  while (end.valid()) {
    const ssize_t got = ::read(end.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      end.reset();
      return true;
    }
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMaxOutput) text.erase(0, text.size() - kKeptErrors);
  }
  return true;
}

}  // namespace

Result<void> Processes::start(std::string name, std::vector<std::string> words,
                              const service::process::Environment& environment,
                              const std::string& first_line) {
  service::process::ChildOptions options;
  options.words = std::move(words);
  options.environment = environment;
  options.input = !first_line.empty();
  options.output = options.errors = true;
  auto child = service::process::Child::start(options);
  if (!child) return fail(child.error());
  all_.push_back({std::move(name), std::move(*child), {}, {}, first_line});
  feed(all_.back());
  return {};
}

void Processes::feed(One& one) {
  FileDescriptor& end = one.child.input();
  while (end.valid() && !one.input.empty()) {
    const ssize_t put = ::write(end.get(), one.input.data(), one.input.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) end.reset();
    if (put > 0) one.input.erase(0, static_cast<std::size_t>(put));
  }
}

void Processes::pump(Clock::time_point until) {
  std::vector<pollfd> items;
  for (One& one : all_) {
    const short writes = one.input.empty() ? 0 : POLLOUT;
    items.push_back({one.child.output().get(), POLLIN, 0});
    items.push_back({one.child.errors().get(), POLLIN, 0});
    items.push_back({writes == 0 ? -1 : one.child.input().get(), writes, 0});
    items.push_back({one.child.ending() ? -1 : one.child.pidfd(), POLLIN, 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  const auto ms = std::clamp<std::int64_t>(left.count(), 0, kSlice.count());
  (void)::poll(items.data(), items.size(), static_cast<int>(ms));
  for (One& one : all_) {
    feed(one);
    (void)read_some(one.child.output(), one.output);
    (void)read_some(one.child.errors(), one.errors);
    if (one.errors.size() > kKeptErrors) one.errors.erase(0, one.errors.size() - kKeptErrors);
  }
}

bool Processes::lacks_line(const One& one) { return one.output.find('\n') == std::string::npos; }

Result<void> Processes::check(One& one, bool awaited) {
  if (g_interrupted) return fail(StatusCode::kCancelled, "interrupted");
  const auto ending = one.child.ending();
  if (!ending) return {};
  // All that it has said is in the pipes by now.
  (void)read_some(one.child.output(), one.output);
  (void)read_some(one.child.errors(), one.errors);
  if (ending->succeeded() && awaited && !lacks_line(one)) return {};
  // What it refuses the command line of the bench has brought.
  const bool refused = ending->exit_code == kUsage;
  return fail(Status(refused ? StatusCode::kInvalidInput : StatusCode::kPeerLost,
                     fmt::format("{} has ended: {}; it said: {}", one.name, ending->to_string(),
                                 one.errors.empty() ? "nothing" : one.errors)));
}

Result<std::vector<std::string>> Processes::read_lines(std::size_t first, Clock::time_point until) {
  const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(first);
  while (std::any_of(begin, all_.end(), lacks_line)) {
    pump(until);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (auto good = check(all_[i], i >= first); !good) return fail(good.error());
    }
    if (Clock::now() < until) continue;
    const auto& late = *std::find_if(begin, all_.end(), lacks_line);
    return fail(StatusCode::kDeadline, fmt::format("{} has not answered; it said: {}", late.name,
                                                   late.errors.empty() ? "nothing" : late.errors));
  }
  std::vector<std::string> lines;
  for (auto one = begin; one != all_.end(); ++one) {
    const auto length = one->output.find('\n');
    lines.push_back(one->output.substr(0, length));
    one->output.erase(0, length + 1);
  }
  return lines;
}

Result<void> Processes::watch(Clock::time_point until) {
  do {
    pump(until);
    for (One& one : all_) {
      if (auto good = check(one, false); !good) return good;
    }
  } while (Clock::now() < until);
  return {};
}

void Processes::tell(std::size_t first, const std::string& line) {
  for (std::size_t i = first; i < all_.size(); ++i) {
    all_[i].input += line;
    feed(all_[i]);
  }
}

void Processes::end(std::size_t last, std::chrono::seconds grace) {
  for (std::size_t i = 0; i < last && i < all_.size(); ++i) all_[i].child.signal(SIGTERM);
  const auto until = Clock::now() + grace;
  const auto runs = [](One& one) { return !one.child.ending(); };
  while (std::any_of(all_.begin(), all_.end(), runs) && Clock::now() < until) pump(until);
  all_.clear();
}

double processor_seconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  // proc(5): utime is field 14; field 3 follows the name.
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace framewire::app::bench_serve
