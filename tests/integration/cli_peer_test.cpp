// What a peer, or a name, can do to the program.
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>
#include <array>
#include <base/wait_for.hpp>
#include <future>
#include <tests/integration/stream_ends.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/socket.hpp>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
namespace wire = transport::wire;

using AttackCli = StreamEnds;

// Where the attack succeeds, the program would wait for ever.
Ran run_for_seconds(const Words& words) {
  return run_program(words, {}, [] { ::alarm(60); });
}

constexpr const char* kHostile =
    "no\xff\x1b]0;pwned\x07\xc2\x9b"
    "2J";

TEST_F(AttackCli, InsecureTakesNoListOfPeers) {
  const std::vector<Words> commands = {{"sink", "--listen", address_},
                                       {"stream", folder_ / "in", address_},
                                       {"perf", "latency", address_},
                                       {"perf", "latency", "--server", address_}};
  for (Words words : commands) {
    words.insert(words.end(), {"--insecure", "--allow", "alice"});
    const Ran ran = run_for_seconds(words);
    EXPECT_EQ(ran.exit_code, 2) << words[0] << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("--allow"));
    EXPECT_THAT(ran.err, HasSubstr("see framewire " + words[0] + " --help"));
  }
}

TEST_F(AttackCli, AKeysNameThatIsNoTextIsRefusedAtOnce) {
  write_text(folder_ / "keys", "J\xf6rg 000102030405060708090a0b0c0d0e0f\n");
  fs::permissions(folder_ / "keys", fs::perms::owner_read | fs::perms::owner_write);
  const Ran ran =
      run_for_seconds({"sink", "--listen", address_, "--psk", folder_ / "keys", "--json"});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("UTF-8"));
}

// The name of a file stands in the report of a sink that cannot write it.
TEST_F(AttackCli, ANameThatIsNoTextDoesNotEndTheReport) {
  const std::string out = folder_ / "out\xff\x1b[2J";
  auto sink = start_sink_with({}, {"--insecure", "--out", out, "--json", "--frames", "50"});
  for (int i = 0; i < 6000 && !fs::exists(out); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  fs::remove(out);
  write_text(out, "a file, where a folder was");
  EXPECT_NE(stream({"--insecure", "--loop", "50"}).exit_code, -1);
  const Ran ran = sink.get();
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("internal")));
  EXPECT_THAT(ran.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ran.err, HasSubstr("out\\xff\\x1b[2J"));
  EXPECT_EQ(json::parse(ran.out)["not_kept"], 50);
}

// A server that refuses with what moves cursors and is no text.
TEST_F(AttackCli, ARefusalIsShownHarmless) {
  auto port = wire::listen_on(*wire::parse_address("127.0.0.1:0"));
  ASSERT_TRUE(port);
  const std::string address = "127.0.0.1:" + std::to_string(wire::port_of(*port));
  auto server = std::async(std::launch::async, [&] {
    const auto deadline = base::Clock::now() + std::chrono::seconds(60);
    ASSERT_TRUE(base::wait_for(port->get(), false, deadline));
    auto caller = wire::accept_next(*port);
    ASSERT_TRUE(caller && *caller);
    const auto stream = wire::make_plain_stream(std::move((*caller)->socket));
    ASSERT_TRUE(wire::read_frame(*stream, deadline));
    const auto body = wire::encode_refusal(Status(StatusCode::kDenied, kHostile));
    ASSERT_TRUE(wire::write_frame(*stream, wire::FrameType::kRefuse, body, deadline));
  });
  const Ran ran = run_program({"stream", folder_ / "in", address, "--insecure", "--json"});
  server.get();
  EXPECT_EQ(ran.signal, 0);
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("no\\xff?]0;pwned?\\xc2\\x9b2J"));
}

}  // namespace
}  // namespace framewire::test
