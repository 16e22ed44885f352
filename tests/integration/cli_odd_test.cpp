// The program with names, files and limits that are out of the ordinary.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tests/integration/support.hpp>
#include <thread>

namespace framewire::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class CliOdd : public ::testing::Test {
 protected:
  CliOdd() { write_file(in_, make_jpeg(64, 48)); }

  Ran run(const Words& words, const std::function<void()>& prepare = {}, const Bytes& input = {}) {
    return run_program(words, input, [&] {
      if (::chdir(folder_.path().c_str()) != 0) ::_exit(126);
      if (prepare) prepare();
    });
  }
  /// Files in the folder and below, temporary ones included.
  [[nodiscard]] std::size_t files() const { return read_tree(folder_.path()).size(); }

  const TemporaryFolder folder_;
  const std::string in_ = folder_ / "in.jpg";
};

TEST_F(CliOdd, NamesThatBeginWithADashComeAfterTwo) {
  write_file(folder_ / "-x.jpg", make_jpeg(64, 48));
  write_file(folder_ / "-in/-x.jpg", make_jpeg(64, 48));
  write_file(folder_ / "--", make_jpeg(64, 48));
  const std::vector<Words> commands = {
      {"resize", "--size", "16", "--", "-x.jpg", "-y.jpg"},
      {"resize", "-x.jpg.none", "--size", "16", "--", "-y.jpg"},  // refused, see below
      {"resize", "--", "--", "-z.jpg"},
      {"batch", "--size", "16", "--", "-in", "-out"},
      {"batch", "--size", "16", "--", "-x.jpg", "-out2"},
      {"inspect", "--", "-x.jpg"},
      {"bench", "resize", "--seconds", "0.01", "--repeat", "1", "--", "-x.jpg"},
      {"split", "--devices", "host", "--out", "s", "--", "-x.jpg"},
  };
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Ran ran = run(commands[i]);
    EXPECT_EQ(ran.exit_code, i == 1 ? 2 : 0) << commands[i][0] << i << ": " << ran.err;
    if (i == 1) {
      EXPECT_NE(ran.err.find("come after --"), std::string::npos) << ran.err;
    }
  }
  EXPECT_EQ(decode_size(read_file(folder_ / "-y.jpg")), (Size{16, 12}));
  EXPECT_TRUE(fs::exists(folder_ / "-out/-x.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "-out2/-x.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "-z.jpg"));
  const Ran pipe = run({"resize", "--size", "16", "--", "-", "-"}, {}, read_file(in_));
  EXPECT_EQ(pipe.exit_code, 0) << pipe.err;
  EXPECT_EQ(decode_size(Bytes(pipe.out.begin(), pipe.out.end())), (Size{16, 12}));
  for (const char* command : {"doctor", "man", "version", "sink"}) {
    EXPECT_EQ(run({command, "--", "x"}).exit_code, 2) << command;
  }
  // Names, though there is nobody to connect to.
  for (const Words& words : {Words{"stream", "--insecure", "--", "-x.jpg", "127.0.0.1:1"},
                             Words{"perf", "--insecure", "--", "latency", "127.0.0.1:1"}}) {
    EXPECT_EQ(run(words).exit_code, 3) << words[0];
  }
}

TEST_F(CliOdd, ListsOfOtherSystemsAreRead) {
  write_file(folder_ / "b.jpg", make_jpeg(64, 48));
  write_text(folder_ / "list", "\xEF\xBB\xBFin.jpg\r\n\r\nb.jpg\r\n");
  const Ran ran = run({"batch", "@list", "out", "--size", "16"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/in.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "out/b.jpg"));
  // With NUL as the end every byte of a name counts.
  fs::rename(folder_ / "b.jpg", folder_ / "c.jpg\r");
  const std::string names("c.jpg\r\0", 7);
  EXPECT_EQ(
      run({"batch", "out", "--files-from", "-", "--null"}, {}, Bytes(names.begin(), names.end()))
          .exit_code,
      0);
  EXPECT_TRUE(fs::exists(folder_ / "out/c.jpg\r"));
  const std::string wide(
      "\xFF\xFE"
      "i\0n\0.\0j\0p\0g\0\n\0",
      16);
  const Ran utf16 = run({"batch", "out", "--files-from", "-"}, {}, Bytes(wide.begin(), wide.end()));
  EXPECT_EQ(utf16.exit_code, 1);
  EXPECT_NE(utf16.err.find("UTF-16"), std::string::npos) << utf16.err;
}

TEST_F(CliOdd, JsonIsADocumentAlsoWhenTheInputFails) {
  write_text(folder_ / "bad.jpg", "no JPEG");
  const std::vector<std::pair<Words, int>> commands = {
      {{"resize", "none.jpg", "out.jpg", "--json"}, 1},
      {{"resize", "bad.jpg", "out.jpg", "--json"}, 1},
      {{"resize", "in.jpg", "none/out.jpg", "--json"}, 3},
      {{"resize", "in.jpg", "in.jpg", "--json"}, 2},
      {{"resize", "in.jpg", "--json"}, 2},
      {{"resize", "in.jpg", "out.jpg", "--json", "--qualty", "3"}, 2},
      {{"inspect", "none.jpg", "--json"}, 1},
      {{"inspect", "--json"}, 2},
      {{"batch", "none", "out", "--json"}, 3},
      {{"batch", "bad.jpg", "out", "--json"}, 1},
      {{"batch", "in.jpg", "in.jpg/x", "--json"}, 3},
      {{"bench", "resize", "none.jpg", "--json"}, 1},
      {{"split", "none", "--devices", "host", "--json"}, 3},
      {{"doctor", "--root", "none", "--json"}, 3},
      {{"doctor", "--gpu", "77", "--json"}, 2},
      {{"perf", "latency", "--json"}, 2},
      {{"perf", "latency", "127.0.0.1:1", "--insecure", "--json"}, 3},
      {{"stream", "in.jpg", "127.0.0.1:1", "--insecure", "--json"}, 3},
      {{"sink", "--listen", "nowhere", "--insecure", "--json"}, -1},
  };
  for (const auto& [words, code] : commands) {
    const Ran ran = run(words);
    if (code >= 0) {
      EXPECT_EQ(ran.exit_code, code) << words[0] << " " << words[1] << ": " << ran.err;
    }
    EXPECT_NE(ran.exit_code, 0) << words[0] << " " << words[1];
    const json document = json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << words[0] << " " << words[1] << ": '" << ran.out << "'";
    if (document.contains("failed")) continue;  // a batch's own summary
    EXPECT_FALSE(document["error"]["class"].get<std::string>().empty()) << ran.out;
    EXPECT_FALSE(document["error"]["message"].get<std::string>().empty()) << ran.out;
  }
  const json models = json::parse(run({"inspect", "none.jpg", "in.jpg", "--json"}).out);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0]["error"]["class"], "io_error");
  EXPECT_EQ(models[1]["frame"]["w"], 64);
}

TEST_F(CliOdd, ResizeMakesNoFoldersAndWritesThroughOwnLinks) {
  const Ran missing = run({"resize", "in.jpg", "new/folder/out.jpg"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("No such file or directory"), std::string::npos) << missing.err;
  EXPECT_FALSE(fs::exists(folder_ / "new"));
  fs::create_directories(folder_ / "real");
  fs::create_symlink("real/out.jpg", folder_ / "link.jpg");
  fs::create_symlink("link.jpg", folder_ / "second.jpg");
  for (const char* link : {"link.jpg", "second.jpg"}) {
    EXPECT_EQ(run({"resize", "in.jpg", link, "--size", "16"}).exit_code, 0);
    EXPECT_TRUE(fs::is_symlink(folder_ / link));
    EXPECT_EQ(decode_size(read_file(folder_ / "real/out.jpg")), (Size{16, 12}));
    fs::remove(folder_ / "real/out.jpg");
  }
  fs::create_symlink("loop.jpg", folder_ / "loop.jpg");
  const Ran loop = run({"resize", "in.jpg", "loop.jpg"});
  EXPECT_EQ(loop.exit_code, 3);
  EXPECT_NE(loop.err.find("Too many levels"), std::string::npos) << loop.err;
}

// A file may grow to so many bytes and no further: said, and nothing is left.
TEST_F(CliOdd, TheLimitOfAFilesSizeIsAnErrorAndLeavesNothing) {
  const Bytes large = make_jpeg(800, 600);
  write_file(folder_ / "large.jpg", large);
  write_file(folder_ / "in/large.jpg", large);
  const std::size_t before = files();
  const auto limit = [] {
    const rlimit bytes{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &bytes);
  };
  const Ran one = run({"resize", "large.jpg", "out.jpg"}, limit);
  EXPECT_EQ(one.exit_code, 3) << "signal " << one.signal;
  EXPECT_NE(one.err.find("io_error: out.jpg: cannot write: File too large"), std::string::npos)
      << one.err;
  const Ran many = run({"batch", "in", "out"}, limit);
  EXPECT_EQ(many.exit_code, 1) << "signal " << many.signal;
  EXPECT_NE(many.err.find("File too large"), std::string::npos) << many.err;
  EXPECT_EQ(files(), before);
}

TEST_F(CliOdd, AFullDiskIsAnErrorAndLeavesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  write_file(folder_ / "in/large.jpg", make_jpeg(1600, 1200, 5));
  fs::create_directories(folder_ / "disk");
  const std::string disk = folder_ / "disk";
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=8k") != 0) GTEST_SKIP() << "no tmpfs here";
  const Ran one = run({"resize", "in/large.jpg", "disk/out.jpg"});
  const Ran many = run({"batch", "in", "disk"});
  const std::size_t left = read_tree(disk).size();
  ::umount2(disk.c_str(), MNT_DETACH);
  for (const Ran& ran : {one, many}) {
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_NE(ran.err.find("No space left"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(left, 0u);
}

// Signals that end the program in the middle of a write leave no temporary file, however many
// there are.
TEST_F(CliOdd, MessagesReachNoFileWhereStandardStreamsAreClosed) {
  // The shell closes streams, then becomes the program.
  const auto run_closed = [&](const std::string& words, const std::string& closed) {
    const std::string line = "cd '" + folder_.path().string() +
                             "' && exec '" FRAMEWIRE_PROGRAM "' " + words + " " + closed;
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  for (const char* closed : {"2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"}) {
    const std::string words = "batch in.jpg none.jpg out --size 16 --progress always --manifest m";
    EXPECT_EQ(run_closed(words, closed), 1) << closed;
    std::istringstream rows(read_text(folder_ / "m"));
    int count = 0;
    for (std::string row; std::getline(rows, row); ++count) {
      EXPECT_TRUE(json::accept(row)) << closed << ": " << row;
    }
    EXPECT_EQ(count, 2) << closed;
    fs::remove(folder_ / "m");
    fs::remove_all(folder_ / "out");
  }
  // What is asked of a closed stream is an error, as ever.
  EXPECT_EQ(run_closed("resize in.jpg - --size 16", ">&-"), 3);
  EXPECT_EQ(run_closed("resize - x.jpg --size 16", "<&-"), 1);
}

TEST_F(CliOdd, SignalsLeaveNoTemporaryFiles) {
  for (int i = 0; i < 200; ++i) {
    write_file(folder_ / ("many/" + std::to_string(i) + ".jpg"), make_jpeg(400, 300));
  }
  int ended = 0;
  for (int round = 0; round < 12; ++round) {
    const std::string out = folder_ / ("out" + std::to_string(round));
    const pid_t process = start_program(
        {"batch", folder_ / "many", out, "--size", "300x", "--jobs", "4", "--durability", "file"});
    for (int i = 0; i < 5000 && !fs::exists(out); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + round));
    const int signal = round % 3 == 0 ? SIGINT : round % 3 == 1 ? SIGTERM : SIGHUP;
    ::kill(process, signal);
    ::kill(process, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(process, signal);
    const Ran ran = wait_for(process);
    ended += ran.signal == signal ? 1 : 0;
    for (const auto& [name, bytes] : read_tree(out)) {
      EXPECT_EQ(name.find(".framewire-"), std::string::npos) << name << " after " << signal;
      EXPECT_TRUE(decode_size(bytes)) << name;
    }
  }
  EXPECT_GT(ended, 0) << "no batch was caught in the middle";
}

// Whatever is named as an input: an exit code, one line that names it, and no waiting for ever.
TEST_F(CliOdd, OddInputsAreTypedErrors) {
  write_text(folder_ / "empty.jpg", "");
  write_text(folder_ / "new\nline \xff\x1b[2J.jpg", "x");
  fs::create_directories(folder_ / "folder");
  fs::create_symlink("loop.jpg", folder_ / "loop.jpg");
  fs::create_symlink("nowhere", folder_ / "dangling.jpg");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.jpg").c_str(), 0600), 0);
  const int held = ::open((folder_ / "pipe.jpg").c_str(), O_RDWR);
  write_text(folder_ / "sparse.jpg", "\xff\xd8");
  std::error_code error;
  fs::resize_file(folder_ / "sparse.jpg", std::uintmax_t{5} << 30, error);
  const Words names = {
      "empty.jpg", "new\nline \xff\x1b[2J.jpg", "folder", "loop.jpg", "dangling.jpg", "sparse.jpg",
      "/dev/zero"};
  for (const std::string& name : names) {
    for (const Words& words : {Words{"resize", name, "out.jpg"}, Words{"inspect", name},
                               Words{"inspect", name, "--json"}, Words{"batch", name, "out"},
                               Words{"bench", "resize", name, "--seconds", "0.01"},
                               Words{"split", name, "--devices", "host"},
                               Words{"stream", name, "127.0.0.1:1", "--insecure"}}) {
      const Ran ran = run(words);
      const bool empty_folder = name == "folder" && (words[0] == "batch" || words[0] == "split");
      EXPECT_EQ(ran.signal, 0) << words[0] << " " << name;
      if (!empty_folder) {
        EXPECT_GT(ran.exit_code, 0) << words[0] << " " << name;
        EXPECT_NE(ran.err + ran.out, "") << words[0] << " " << name;
      }
      EXPECT_EQ(ran.err.find('\x1b'), std::string::npos) << words[0];
      EXPECT_EQ(ran.err.find("internal"), std::string::npos) << words[0] << ": " << ran.err;
    }
  }
  for (const Words& words : {Words{"inspect", "pipe.jpg"}, Words{"batch", "pipe.jpg", "out"}}) {
    EXPECT_NE(run(words).exit_code, 0);
  }
  ::close(held);
  EXPECT_FALSE(fs::exists(folder_ / "out.jpg"));
}

}  // namespace
}  // namespace framewire::test
