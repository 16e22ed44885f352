// framewire batch --server, against framewire serve --local.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <chrono>
#include <csignal>
#include <framewire/client.hpp>
#include <tests/integration/batch_fixture.hpp>
#include <thread>

namespace framewire::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CliLocal : public BatchTest {
 protected:
  [[nodiscard]] std::string socket() const { return folder_ / "socket"; }
  [[nodiscard]] Words with_server() const { return {"--server", socket()}; }
};

TEST_F(CliLocal, WithoutAServerNothingIsDone) {
  const Ran ran = run_program(batch("out", with_server()));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("cannot connect"));
}

TEST_F(CliLocal, ServersThatCannotBeUsedAreNamed) {
  const Ran none = run_program(batch("out", {"--server", ""}));
  EXPECT_EQ(none.exit_code, 2) << none.err;
  EXPECT_THAT(none.err, HasSubstr("--server: found no value"));
  const Ran both = run_program(batch("out", {"--server", socket(), "--device", "0"}));
  EXPECT_EQ(both.exit_code, 2) << both.err;
  EXPECT_THAT(both.err, HasSubstr("--device"));
}

#ifdef FRAMEWIRE_SERVICE
class CliLocalServer : public CliLocal, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    CliLocal::SetUp();
    server_ = start_program(
        serve_with_workers(GetParam(), {"--listen", "127.0.0.1:0", "--drain-delay", "0", "--local",
                                        socket(), "--local-mode", "600"}));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ClientOptions little;
    little.slots = 1;
    little.input_bytes = little.output_bytes = 1;
    while (!Client::connect(socket(), little) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void TearDown() override {
    if (server_ <= 0) return;
    ::kill(server_, SIGTERM);
    EXPECT_EQ(wait_for(server_).exit_code, 0);
    EXPECT_FALSE(fs::exists(socket()));
  }
  void write_large_inputs() const {
    for (int i = 0; i < 40; ++i) {
      write_file(folder_ / ("in/large" + std::to_string(i) + ".jpg"), make_jpeg(1600, 1200));
    }
  }
  /// @param outputs  of a batch that runs meanwhile
  void kill_server_after(int outputs) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    // Whole files alone: unfinished ones, which come and go, have names of their own.
    const auto finished = [this] {
      int count = 0;
      std::error_code ignored;
      for (const auto& file : fs::directory_iterator(folder_ / "out", ignored)) {
        count += file.path().extension() == ".jpg" ? 1 : 0;
      }
      return count;
    };
    while (finished() < outputs && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::kill(server_, SIGKILL);
    (void)wait_for(server_);
    server_ = 0;
  }
  pid_t server_ = 0;
};

TEST_P(CliLocalServer, OutputsAndRowsAreThoseOfABatchAlone) {
  const Ran alone = run_program(batch("alone"));
  const Ran served = run_program(batch("served", with_server()));
  EXPECT_EQ(alone.exit_code, 1) << alone.err;
  EXPECT_EQ(served.exit_code, 1) << served.err;
  EXPECT_EQ(read_tree(folder_ / "served"), read_tree(folder_ / "alone"));
  EXPECT_EQ(read_tree(folder_ / "served").size(), 39u);
  EXPECT_EQ(rows("served"), rows("alone"));
  const json report = json::parse(served.out);
  EXPECT_EQ(report["ok"], 39);
  EXPECT_EQ(report["with_warnings"], 1);
}

TEST_P(CliLocalServer, ABatchWhoseServerIsKilledIsResumedByAnother) {
  write_large_inputs();
  Words words = batch("out", with_server());
  const pid_t batch_process = start_program(words);
  kill_server_after(10);
  EXPECT_EQ(wait_for(batch_process).exit_code, 3) << "although a file that is no JPEG failed, too";
  CliLocalServer::SetUp();  // the dead server's socket is replaced
  words.push_back("--resume");
  const Ran resumed = run_program(words);
  EXPECT_EQ(resumed.exit_code, 1) << resumed.err;  // the file that is no JPEG
  EXPECT_EQ(read_tree(folder_ / "out").size(), 79u);
}

// It looks for another server for 20 seconds.
TEST_P(CliLocalServer, ABatchWhoseServerIsGoneEndsSoonAfterASignal) {
  write_large_inputs();
  const pid_t batch_process = start_program(batch("out", with_server()));
  kill_server_after(10);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begun = std::chrono::steady_clock::now();
  ::kill(batch_process, SIGINT);
  EXPECT_EQ(wait_for(batch_process).exit_code, 130);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

INSTANTIATE_TEST_SUITE_P(InOneProcess, CliLocalServer, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(WithWorkers, CliLocalServer, testing::Values(2));
#endif

}  // namespace
}  // namespace framewire::test
