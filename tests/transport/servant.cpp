#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <tests/transport/servant.hpp>
#include <thread>
#include <transport/device_copy.hpp>

namespace framewire::transport::testing {
namespace {

std::byte at(std::size_t place, unsigned seed) {
  return static_cast<std::byte>((place * 131 + (place >> 8) * 29 + seed * 17 + 1) & 0xff);
}

std::string words(const Status& status) {
  return fmt::format("{} {}", to_string(status.code()), status.message());
}

Direction direction_of(const std::string& word) {
  return word == "get" ? Direction::kGet : Direction::kPut;
}

}  // namespace

void fill(std::span<std::byte> bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = at(i, seed);
}

bool holds(std::span<const std::byte> bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != at(i, seed)) return false;
  }
  return true;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

namespace {

std::vector<std::byte> bytes_of(const Stretch& part) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.length));
  const auto copied = copy_out(part.region, part.offset, bytes);
  if (!copied) throw std::runtime_error(copied.error().to_string());
  return bytes;
}

}  // namespace

void fill(const Stretch& part, unsigned seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.length));
  fill(bytes, seed);
  const auto copied = copy_in(part.region, part.offset, bytes);
  if (!copied) throw std::runtime_error(copied.error().to_string());
}

bool holds(const Stretch& part, unsigned seed) { return holds(bytes_of(part), seed); }

bool all_zero(const Stretch& part) { return all_zero(bytes_of(part)); }

Servant::Servant(std::unique_ptr<Channel> channel, Region memory, std::function<void()> pump)
    : channel_(std::move(channel)), pump_(std::move(pump)), region_(std::move(memory)) {}

std::string Servant::obey(const std::string& command) {
  std::istringstream in(command);
  std::string word;
  in >> word;
  if (word == "fill" || word == "check" || word == "zero") return memory(word, in);
  if (word == "sleep") {
    int ms = 0;
    in >> ms;
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    return "ok";
  }
  if (!channel_) return "peer_lost dropped";
  if (word == "drop") {
    channel_.reset();
    return "ok";
  }
  if (word == "close") {
    channel_->close();
    return "ok";
  }
  if (word == "path") return channel_->path().name;
  if (word == "peer") return channel_->config().peer;
  if (word == "refused") return std::to_string(channel_->stats().refused);
  if (word == "credits") {
    std::string direction;
    in >> direction;
    return std::to_string(channel_->credits(direction_of(direction)));
  }
  std::size_t number = 0;
  if (word == "result") {
    in >> number;
    return result(number);
  }
  if (word == "note") {
    in >> number;
    const auto note = channel_->note(transfers_.at(number));
    return {reinterpret_cast<const char*>(note.data()), note.size()};
  }
  if (word == "revoke") {
    in >> number;
    const auto revoked = channel_->revoke(transfers_.at(number));
    return revoked ? "ok" : words(revoked.error());
  }
  return start(word, in);
}

std::string Servant::start(const std::string& word, std::istringstream& in) {
  std::string direction;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  if (word == "offer") {
    OfferOptions options;
    in >> direction >> offset >> length >> options.ttl_ms;
    options.direction = direction_of(direction);
    return numbered(channel_->offer(region_, offset, length, options));
  }
  if (word == "take") {
    in >> direction;
    const auto lease = channel_->take_lease(direction_of(direction));
    if (!lease) return words(lease.error());
    leases_.push_back(*lease);
    return std::to_string(leases_.size() - 1);
  }
  std::size_t lease = 0;
  TransferOptions options;
  in >> lease >> offset >> length >> options.offset_bytes >> options.deadline_ms >>
      options.checksum;
  if (word == "put") {
    return numbered(channel_->put(leases_.at(lease), region_, offset, length, options));
  }
  if (word == "get") {
    return numbered(channel_->get(leases_.at(lease), region_, offset, length, options));
  }
  return "no such command";
}

std::string Servant::numbered(const Result<Transfer>& transfer) {
  if (!transfer) return words(transfer.error());
  transfers_.push_back(*transfer);
  return std::to_string(transfers_.size() - 1);
}

std::string Servant::result(std::size_t number) {
  const Transfer transfer = transfers_.at(number);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!channel_->done(transfer) && std::chrono::steady_clock::now() < end) {
    if (!channel_->progress()) channel_->idle(0);
    pump_();
  }
  const auto done = channel_->take_result(transfer);
  if (!done) return words(done.error());
  return fmt::format("ok {} {}", done->length_bytes, done->verified ? 1 : 0);
}

std::string Servant::memory(const std::string& word, std::istringstream& in) {
  std::size_t offset = 0;
  std::size_t length = 0;
  unsigned seed = 0;
  in >> offset >> length >> seed;
  const Stretch part{region_, offset, length};
  if (word == "check") return holds(part, seed) ? "yes" : "no";
  if (word == "zero") return all_zero(part) ? "yes" : "no";
  fill(part, seed);
  return "ok";
}

}  // namespace framewire::transport::testing
