// The two ends of a stream as processes.
#pragma once

#include <gtest/gtest.h>
#include <chrono>
#include <csignal>
#include <future>
#include <string>
#include <tests/integration/support.hpp>
#include <tests/support/free_port.hpp>
#include <thread>
#include <vector>

namespace framewire::test {

using Words = std::vector<std::string>;

/// A folder of small pictures, a port, and the two programs.
class StreamEnds : public ::testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 5; ++i) {
      write_file(folder_ / ("in/" + std::to_string(i) + ".jpg"), make_jpeg(160, 121, i));
    }
  }
  void TearDown() override {
    if (sink_ > 0) {
      ::kill(sink_, SIGKILL);
      static_cast<void>(wait_for(sink_));
    }
  }

  Words sink_words(const Words& more) {
    Words words = {"sink", "--listen", address_, "--slot-bytes", "1000000"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void start_sink(const Words& more) { sink_ = start_program(sink_words(more)); }
  /// A sink that ends by itself and reports.
  std::future<Ran> start_sink_with(std::function<void()> prepare, const Words& more) {
    return std::async(std::launch::async, [prepare = std::move(prepare), words = sink_words(more)] {
      return run_program(words, {}, prepare);
    });
  }
  /// Until the sink listens, nobody can connect.
  Ran stream(const Words& more) {
    Words words = {"stream", folder_ / "in", address_};
    words.insert(words.end(), more.begin(), more.end());
    Ran ran;
    for (int i = 0; i < 200; ++i) {
      ran = run_program(words);
      if (ran.err.find("refused") == std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return ran;
  }
  int end_of_sink() {
    const Ran ran = wait_for(sink_);
    sink_ = 0;
    return ran.exit_code;
  }

  const TemporaryFolder folder_;
  const std::string address_ = "127.0.0.1:" + std::to_string(free_port());
  pid_t sink_ = 0;
};

}  // namespace framewire::test
