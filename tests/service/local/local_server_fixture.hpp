// A server over an engine of host threads, and a folder for its socket.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <chrono>
#include <filesystem>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <service/local/local_server.hpp>
#include <string>
#include <tests/support/held_engine.hpp>
#include <tests/unit/engine/resized.hpp>
#include <thread>
#include <vector>

namespace framewire::service::local::test {

using framewire::test::HeldEngine;
using framewire::test::photo;
using sample::Bytes;

inline constexpr std::chrono::seconds kPatience{60};

/// Waits for what another thread or process brings about.
inline bool soon(const std::function<bool()>& true_at_last) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!true_at_last()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// A new folder, deleted with all it holds.
class SocketFolder {
 public:
  SocketFolder() {
    std::string name = "/tmp/fw-local-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder");
    path_ = name;
  }
  ~SocketFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  [[nodiscard]] std::string socket() const { return path_ + "/socket"; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline EngineOptions host_engine(unsigned threads = 2) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = threads;
  return options;
}

/// What small pictures need.
inline ClientOptions small_client() {
  ClientOptions options;
  options.slots = 64;
  options.input_bytes = std::uint64_t{8} << 20;
  options.output_bytes = std::uint64_t{4} << 20;
  options.timeout = kPatience;
  return options;
}

class LocalServerTest : public testing::Test {
 protected:
  void start(LocalServerOptions options = {}, const EngineOptions& engine = host_engine()) {
    engine_ = std::make_unique<Engine>(Engine::make(engine).value());
    options.path = folder_.socket();
    options.on_event = [this](const LocalEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
    auto started = LocalServer::start(*engine_, std::move(options));
    ASSERT_TRUE(started) << started.error().to_string();
    server_.emplace(std::move(*started));
  }
  [[nodiscard]] Client connect(const ClientOptions& options = small_client()) const {
    auto client = Client::connect(folder_.socket(), options);
    if (!client) throw std::runtime_error(client.error().to_string());
    return std::move(*client);
  }
  [[nodiscard]] std::vector<LocalEvent> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  /// Whether a connection has ended in this way, now or soon.
  [[nodiscard]] bool ended(StatusCode code) const {
    return soon([&] {
      for (const LocalEvent& event : events()) {
        if (event.kind == LocalEvent::Kind::kEnded && event.status.code() == code) return true;
      }
      return false;
    });
  }

  SocketFolder folder_;
  mutable std::mutex mutex_;
  std::vector<LocalEvent> events_;
  std::unique_ptr<Engine> engine_;
  std::optional<LocalServer> server_;
};

inline ResizeOptions width(int px) {
  ResizeOptions options;
  options.width_px = px;
  return options;
}

/// All of a report but the times.
inline void expect_equal(const Report& one, const Report& other) {
  const auto equal = [](const ImageSummary& a, const ImageSummary& b) {
    EXPECT_EQ(a.width_px, b.width_px);
    EXPECT_EQ(a.height_px, b.height_px);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.components, b.components);
    EXPECT_EQ(a.sampling, b.sampling);
    EXPECT_EQ(a.process, b.process);
  };
  equal(one.input, other.input);
  equal(one.output, other.output);
  EXPECT_EQ(one.codec, other.codec);
  EXPECT_EQ(one.codec_reason, other.codec_reason);
  EXPECT_EQ(one.decode_scale, other.decode_scale);
  EXPECT_EQ(one.quality, other.quality);
  EXPECT_EQ(one.color_converted, other.color_converted);
  EXPECT_EQ(one.assumed_profile, other.assumed_profile);
  EXPECT_EQ(one.gain_map_kept, other.gain_map_kept);
  EXPECT_EQ(one.original_kept, other.original_kept);
  ASSERT_EQ(one.warnings.size(), other.warnings.size());
  for (std::size_t i = 0; i < one.warnings.size(); ++i) {
    EXPECT_EQ(one.warnings[i].kind, other.warnings[i].kind);
    EXPECT_EQ(one.warnings[i].message, other.warnings[i].message);
    EXPECT_EQ(one.warnings[i].offset, other.warnings[i].offset);
  }
}

inline void expect_equal(const Result<Resized>& one, const Result<Resized>& other) {
  ASSERT_EQ(one.has_value(), other.has_value())
      << (one ? other.error().to_string() : one.error().to_string());
  if (one) {
    EXPECT_EQ(one->bytes, other->bytes);
    expect_equal(one->report, other->report);
  } else {
    EXPECT_EQ(one.error().code(), other.error().code());
    EXPECT_EQ(one.error().message(), other.error().message());
    EXPECT_EQ(one.error().subject(), other.error().subject());
    EXPECT_EQ(one.error().offset(), other.error().offset());
  }
}

}  // namespace framewire::service::local::test
