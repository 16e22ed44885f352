// framewire stream and framewire sink, two processes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <tests/integration/stream_ends.hpp>
#include <thread>

namespace framewire::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Gives this process a file system of 64 KiB at the folder, which no other process sees: as root,
/// or where users may have namespaces of their own.
bool mount_small(const std::string& folder) {
  const auto put = [](const char* path, const std::string& text) {
    const int fd = ::open(path, O_WRONLY);
    const bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(fd);
    return done;
  };
  const std::string map = fmt::format("0 {} 1", ::getuid());
  const bool apart = ::unshare(CLONE_NEWNS) == 0 || (::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                                                     put("/proc/self/uid_map", map));
  return apart && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

bool can_mount_small(const std::string& folder) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(mount_small(folder) ? 0 : 1);
  return wait_for(child).exit_code == 0;
}

class CliStream : public StreamEnds {
 protected:
  /// Waits for a file of the second sender's. @return false after two minutes
  [[nodiscard]] bool second_has_begun() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!fs::exists(folder_ / "out/0002-00000001.jpg")) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
};

TEST_F(CliStream, FilesArriveAsTheyAreAndInOrder) {
  for (const char* link : {"stream", "shared"}) {
    SCOPED_TRACE(link);
    const std::string out = folder_ / link;
    start_sink({"--insecure", "--link", link, "--out", out, "--frames", "5"});
    const Ran ran = stream({"--insecure", "--link", link, "--checksum", "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const json report = json::parse(ran.out);
    EXPECT_EQ(report["delivered"], 5);
    EXPECT_EQ(report["dropped"], 0);
    EXPECT_EQ(end_of_sink(), 0);
    const auto files = read_tree(out);
    ASSERT_EQ(files.size(), 5U);
    int i = 0;
    for (const auto& [name, bytes] : files) {
      EXPECT_EQ(bytes, read_file(folder_ / ("in/" + std::to_string(i++) + ".jpg"))) << name;
    }
  }
}

TEST_F(CliStream, ASinkThatIsStartedAgainKeepsWhatIsThere) {
  const std::string out = folder_ / "out";
  const auto strangers = {"0002-00000001.png", "7-00000001.jpg.tmp", "x-00000001.jpg", "9-.jpg"};
  for (const char* name : strangers) write_text(out + "/" + name, name);
  for (int run = 1; run <= 2; ++run) {
    start_sink({"--insecure", "--out", out, "--frames", "5"});
    const Ran ran = stream({"--insecure"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(end_of_sink(), 0);
    EXPECT_EQ(read_tree(out).size(), strangers.size() + 5U * static_cast<unsigned>(run));
    EXPECT_TRUE(fs::exists(out + "/000" + std::to_string(run) + "-00000005.jpg"));
  }
}

TEST_F(CliStream, OptionsMakeSmallerPicturesAndPlanesBecomeY4m) {
  start_sink({"--insecure", "--out", folder_ / "out", "--frames", "10"});
  const Ran small = stream({"--insecure", "--size", "40x"});
  EXPECT_EQ(small.exit_code, 0) << small.err;
  const Ran planes = stream({"--insecure", "--as", "planes"});
  EXPECT_EQ(planes.exit_code, 0) << planes.err;
  EXPECT_EQ(end_of_sink(), 0);
  const auto files = read_tree(folder_ / "out");
  ASSERT_EQ(files.size(), 10U);
  const auto size = decode_size(files.at("0001-00000001.jpg"));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->width_px, 40);
  const Bytes& y4m = files.at("0002-00000001.y4m");
  EXPECT_THAT(std::string(y4m.begin(), y4m.end()), HasSubstr("W160 H121"));
}

TEST_F(CliStream, OnlyWhoHasTheKeyIsServed) {
  write_text(folder_ / "keys", "camera 000102030405060708090a0b0c0d0e0f\n");
  write_text(folder_ / "others", "camera ff0102030405060708090a0b0c0d0e0f\n");
  for (const char* name : {"keys", "others"}) {
    fs::permissions(folder_ / name, fs::perms::owner_read | fs::perms::owner_write);
  }
  start_sink({"--psk", folder_ / "keys", "--out", folder_ / "out", "--frames", "5"});
  EXPECT_NE(stream({"--insecure"}).exit_code, 0);
  const Ran wrong = stream({"--psk", folder_ / "others"});
  EXPECT_EQ(wrong.exit_code, 3) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("the server does not know this key or name"));
  const Ran unnamed = stream({"--psk", folder_ / "keys", "--psk-name", "nobody"});
  EXPECT_EQ(unnamed.exit_code, 2) << unnamed.err;
  EXPECT_THAT(unnamed.err, HasSubstr("--psk-name: found 'nobody'"));
  const Ran right = stream({"--psk", folder_ / "keys"});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_EQ(end_of_sink(), 0);
  EXPECT_EQ(read_tree(folder_ / "out").size(), 5U);
}

TEST_F(CliStream, ADeadSinkEndsTheStream) {
  start_sink({"--insecure", "--out", folder_ / "out"});
  ASSERT_EQ(stream({"--insecure"}).exit_code, 0);
  std::thread death([this] {
    EXPECT_TRUE(second_has_begun());
    ::kill(sink_, SIGKILL);
  });
  const Ran ran = stream({"--insecure", "--loop", "1000000000"});
  death.join();
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("peer_lost"));
}

TEST_F(CliStream, ADeadSenderLeavesWholeFilesAndTheSinkGoesOn) {
  start_sink({"--insecure", "--out", folder_ / "out", "--frames", "1000000"});
  ASSERT_EQ(stream({"--insecure"}).exit_code, 0);
  const pid_t sender =
      start_program({"stream", folder_ / "in", address_, "--insecure", "--loop", "1000000000"});
  EXPECT_TRUE(second_has_begun());
  ::kill(sender, SIGKILL);
  static_cast<void>(wait_for(sender));
  EXPECT_EQ(stream({"--insecure"}).exit_code, 0);
  ::kill(sink_, SIGTERM);
  static_cast<void>(end_of_sink());
  for (const auto& [name, bytes] : read_tree(folder_ / "out")) {
    EXPECT_TRUE(decode_size(bytes)) << name;
  }
}

TEST_F(CliStream, AFullDiskEndsTheSinkAndIsCounted) {
  const std::string out = folder_ / "out";
  fs::create_directory(out);
  if (!can_mount_small(out)) GTEST_SKIP() << "mounting a file system is not allowed here";
  auto sink = start_sink_with([out] { mount_small(out); }, {"--insecure", "--out", out, "--json"});
  const Ran sender = stream({"--insecure", "--loop", "1000"});
  EXPECT_EQ(sender.exit_code, 1) << sender.err;
  EXPECT_THAT(sender.err, HasSubstr("peer_lost"));
  const Ran ran = sink.get();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_GE(report["not_kept"], 1);
  EXPECT_LT(report["not_kept"], report["frames"]);
  EXPECT_EQ(report["error"]["class"], "io_error");
  EXPECT_THAT(report["error"]["message"].get<std::string>(), HasSubstr("No space left"));
}

TEST_F(CliStream, AFrameThatCannotBeKeptIsCountedAndTheSinkGoesOn) {
  write_file(folder_ / "in/2.jpg", make_jpeg(1600, 1200, 2));
  ASSERT_LT(fs::file_size(folder_ / "in/1.jpg"), 16'384U);
  ASSERT_GT(fs::file_size(folder_ / "in/2.jpg"), 16'384U);
  const auto files_are_small = [] {
    const rlimit limit{16'384, 16'384};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
  };
  auto sink = start_sink_with(files_are_small,
                              {"--insecure", "--out", folder_ / "out", "--frames", "5", "--json"});
  const Ran sender = stream({"--insecure"});
  EXPECT_EQ(sender.exit_code, 0) << sender.err;
  const Ran ran = sink.get();
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("0001-00000003.jpg"));
  EXPECT_EQ(json::parse(ran.out)["not_kept"], 1);
  EXPECT_EQ(read_tree(folder_ / "out").size(), 4U);
}

TEST_F(CliStream, AHostThatNobodyKnowsIsOfTheEnvironment) {
  const Ran ran = run_program({"stream", folder_ / "in", "host.invalid:9", "--insecure"});
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("host.invalid"));
}

TEST_F(CliStream, ASinkWithoutANumberLeftIsRefused) {
  write_file(folder_ / "out/1000000000000000-1.jpg", make_jpeg(8, 8, 1));
  const Ran ran = run_program(
      {"sink", "--listen", "127.0.0.1:0", "--insecure", "--out", folder_ / "out", "--frames", "1"});
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("holds a frame of connection 1000000000000000"));
}

TEST_F(CliStream, ARequiredPathThatIsNotThereIsRefused) {
  start_sink({"--insecure"});
  ASSERT_EQ(stream({"--insecure"}).exit_code, 0);
  const Ran ran = stream({"--insecure", "--require", "gpudirect"});
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("framewire doctor"));
}

}  // namespace
}  // namespace framewire::test
