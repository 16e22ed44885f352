#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <service/process/run.hpp>

namespace framewire::service::process {
namespace {

using base::Clock;
using base::FileDescriptor;

/// Reads what is there. @return false where that is more than `max`
bool drain(FileDescriptor& end, std::string& text, std::size_t max) {
  char buffer[4096];
  while (end.valid()) {
    const ssize_t got = ::read(end.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      end.reset();
      return true;
    }
    if (text.size() + static_cast<std::size_t>(got) > max) return false;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return true;
}

void feed(FileDescriptor& end, std::string_view& rest) {
  while (end.valid() && !rest.empty()) {
    const ssize_t put = ::write(end.get(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) rest = {};  // it reads no more
    if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  }
  end.reset();
}

/// Sleeps until something can be done, or until then. @return whether the process has ended
bool sleep(Child& child, Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd all[] = {{child.pidfd(), POLLIN, 0},
                  {child.input().get(), POLLOUT, 0},
                  {child.output().get(), POLLIN, 0},
                  {child.errors().get(), POLLIN, 0}};
  (void)::poll(all, std::size(all), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  return (all[0].revents & POLLIN) != 0;
}

}  // namespace

Result<Ran> run(const ChildRunOptions& options) {
  const auto until = Clock::now() + options.timeout;
  auto child = Child::start({options.words, options.environment, true, true, true, false});
  if (!child) return fail(child.error());
  const std::string& program = options.words[0];
  Ran ran;
  std::string_view rest = options.input;
  for (bool ended = false; !ended;) {
    feed(child->input(), rest);
    ended = sleep(*child, until);
    const bool fits = drain(child->output(), ran.output, options.max_output_bytes) &&
                      drain(child->errors(), ran.errors, options.max_output_bytes);
    if (!fits) {
      return fail(Status(StatusCode::kTooLarge,
                         fmt::format("it says more than {} bytes", options.max_output_bytes))
                      .about(program));
    }
    if (!ended && Clock::now() >= until) {
      return fail(Status(StatusCode::kDeadline,
                         fmt::format("it has not ended after {} ms", options.timeout.count()))
                      .about(program));
    }
  }
  ran.ending = child->ending().value_or(Ending{});
  return ran;
}

}  // namespace framewire::service::process
