#include <sys/socket.h>
#include <unistd.h>
#include <cstddef>
#include <tests/integration/serve_crowd.hpp>
#include <utility>

namespace framewire::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool within(std::chrono::milliseconds time, const std::function<bool()>& condition) {
  for (const auto until = Clock::now() + time; !condition();) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

bool send_all(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto count = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

/// The length that a head promises.
std::size_t length_in(const std::string& head) {
  constexpr std::string_view kField = "content-length: ";
  for (std::size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at)) {
    at += 2;
    std::string name = head.substr(at, kField.size());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (name == kField) return std::stoul(head.substr(at + kField.size()));
  }
  return 0;
}

}  // namespace

Crowd::Crowd(std::function<int()> connect, std::vector<CrowdRequest> requests, int clients,
             bool retries)
    : connect_(std::move(connect)), requests_(std::move(requests)), retries_(retries) {
  going_ = clients;
  for (int i = 0; i < clients; ++i) {
    threads_.emplace_back([this, i] {
      run(static_cast<std::size_t>(i));
      --going_;
    });
  }
}

Crowd::~Crowd() { (void)stop(); }

bool Crowd::answered(std::uint64_t more) const {
  const std::uint64_t from = right_;
  return within(60s, [&] { return right_ >= from + more; });
}

bool Crowd::ended_within(std::chrono::milliseconds time) const {
  return within(time, [&] { return going_ == 0; });
}

CrowdCounts Crowd::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return {right_, wrong_, refused_, cut_, unanswered_, no_server_};
}

void Crowd::run(std::size_t client) {
  int fd = -1;
  for (std::size_t i = client; !stopping_; ++i) {
    if (fd < 0 && (fd = connect_()) < 0) {
      ++no_server_;
      if (!retries_) return;
      std::this_thread::sleep_for(5ms);
      continue;
    }
    const After after = ask(fd, requests_[i % requests_.size()]);
    if (after == After::kOpen) continue;
    ::close(std::exchange(fd, -1));
    if (after == After::kLost && !retries_) return;
  }
  if (fd >= 0) ::close(fd);
}

Crowd::After Crowd::ask(int fd, const CrowdRequest& request) {
  std::string answer;
  std::size_t head_bytes = 0;
  std::size_t whole_bytes = 0;
  // A server may answer and close before it has read everything; what it says counts.
  (void)send_all(fd, request.bytes);
  while (whole_bytes == 0 || answer.size() < whole_bytes) {
    char part[65536];
    const auto got = ::recv(fd, part, sizeof part, 0);
    if (got <= 0) {
      ++(answer.empty() ? unanswered_ : cut_);
      return After::kLost;
    }
    answer.append(part, static_cast<std::size_t>(got));
    if (whole_bytes != 0 || answer.find("\r\n\r\n") == std::string::npos) continue;
    head_bytes = answer.find("\r\n\r\n") + 4;
    whole_bytes = head_bytes + length_in(answer.substr(0, head_bytes));
  }
  const std::string head = answer.substr(0, head_bytes);
  if (!head.starts_with("HTTP/1.1 200 ")) {
    ++refused_;
    note_fault(answer);
  } else if (answer.compare(head_bytes, std::string::npos, request.expected) != 0) {
    ++wrong_;
    note_fault(head);
  } else {
    ++right_;
  }
  return head.find("Connection: close") == std::string::npos ? After::kOpen : After::kClosed;
}

void Crowd::note_fault(std::string text) {
  if (!has_fault_.exchange(true)) fault_ = std::move(text);
}

}  // namespace framewire::test
