// Attempts to have a batch destroy its own inputs, whatever the way to them.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <batch/output_folder.hpp>
#include <framewire/batch.hpp>
#include <memory>
#include <optional>
#include <tests/integration/batch_attack.hpp>
#include <thread>

namespace framewire::test {
namespace {

TEST_F(BatchAttack, ANamedInputIsNotReplacedByAnothersOutput) {
  put("a.jpg");
  put("b/a.jpg");
  expect_kept({"a.jpg", "b/a.jpg"}, {"a.jpg", "b/a.jpg", "b"});
  expect_kept({"a.jpg", "b/a.jpg"}, {"b/a.jpg", "a.jpg", "b"});
  expect_kept({"a.jpg", "b/a.jpg"}, {"./b/../a.jpg", "b/../b/a.jpg", "b/."});
  EXPECT_TRUE(fs::exists(folder_ / "b/b/a.jpg")) << "what replaces nothing is made";
}

TEST_F(BatchAttack, NorWhereTheInputIsALinkOrHasOne) {
  put("a.jpg");
  put("real.jpg");
  fs::create_directories(folder_ / "b");
  fs::create_symlink("../real.jpg", folder_ / "b/a.jpg");
  expect_kept({"a.jpg", "real.jpg"}, {"a.jpg", "b/a.jpg", "b"});
  EXPECT_TRUE(fs::is_symlink(folder_ / "b/a.jpg"));
  fs::remove(folder_ / "b/a.jpg");
  fs::create_hard_link(folder_ / "real.jpg", folder_ / "b/a.jpg");
  expect_kept({"a.jpg", "b/a.jpg"}, {"a.jpg", "real.jpg", "b"});
}

// The name of an input that is not there yet: what is written there would be read.
TEST_F(BatchAttack, AnOutputDoesNotBecomeAnInput) {
  put("a.jpg");
  fs::create_directories(folder_ / "b");
  const Ran ran = batch({"a.jpg", "b/a.jpg", "b", "--jobs", "1"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "b/a.jpg")) << ran.err;
  EXPECT_FALSE(fs::exists(folder_ / "b/b/a.jpg"));
}

TEST_F(BatchAttack, ALinkInTheOutputFolderLeadsNowhere) {
  put("in/other/x.jpg");
  put("in/sub/x.jpg");
  fs::create_directories(folder_ / "out");
  fs::create_directory_symlink("../in/other", folder_ / "out/sub");
  expect_kept({"in/other/x.jpg", "in/sub/x.jpg"}, {"in", "out"});
  EXPECT_TRUE(fs::exists(folder_ / "out/other/x.jpg"));
}

TEST_F(BatchAttack, ALinkInTheInputFolderDoesNotLeadToOutputs) {
  put("in/a/x.jpg");
  put("out/a/x.jpg");
  fs::create_directory_symlink("../out/a", folder_ / "in/z");
  expect_kept({"in/a/x.jpg", "out/a/x.jpg"}, {"in", "out"});
  fs::remove(folder_ / "in/z");
  fs::create_symlink("../out/a/x.jpg", folder_ / "in/file.jpg");
  expect_kept({"in/a/x.jpg", "out/a/x.jpg"}, {"in", "out"});
}

TEST_F(BatchAttack, ALinkInPlaceOfAnOutputIsKept) {
  put("in/a.jpg");
  put("in/b.jpg");
  fs::create_directories(folder_ / "out");
  fs::create_symlink("../in/b.jpg", folder_ / "out/a.jpg");
  expect_kept({"in/a.jpg", "in/b.jpg"}, {"in", "out"});
  EXPECT_TRUE(fs::is_symlink(folder_ / "out/a.jpg"));
}

TEST_F(BatchAttack, AnInputFolderInsideTheOutputFolderIsNotWrittenTo) {
  put("photos/in/in/x.jpg");
  put("photos/in/x.jpg");
  put("photos/in/y.jpg");
  expect_kept({"photos/in/in/x.jpg", "photos/in/x.jpg"}, {"photos/in", "photos"});
  EXPECT_TRUE(fs::exists(folder_ / "photos/y.jpg"));
}

TEST_F(BatchAttack, ABindMountIsNoWayRound) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  const auto mounted = [&](const std::string& from, const std::string& to, const Bytes& wanted,
                           const std::string& name) {
    const Ran ran =
        run_program({"batch", folder_ / "in", folder_ / "out", "--size", "16"}, {}, [&] {
          if (::unshare(CLONE_NEWNS) != 0 ||
              ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
              ::mount((folder_ / from).c_str(), (folder_ / to).c_str(), nullptr, MS_BIND,
                      nullptr) != 0) {
            ::_exit(125);
          }
        });
    if (ran.exit_code == 125) return false;
    EXPECT_EQ(ran.exit_code, 1) << ran.err;
    EXPECT_EQ(bytes(name), wanted) << to << ": " << ran.err;
    return true;
  };
  put("in/other/x.jpg");
  put("in/sub/x.jpg");
  fs::create_directories(folder_ / "out/sub");
  if (!mounted("in/other", "out/sub", bytes("in/other/x.jpg"), "in/other/x.jpg")) {
    GTEST_SKIP() << "mounts are not allowed here";
  }
  put("out/sub/x.jpg");
  fs::create_directories(folder_ / "in/z");
  mounted("out/sub", "in/z", bytes("out/sub/x.jpg"), "out/sub/x.jpg");
}

TEST_F(BatchAttack, AListThatNamesAnOutputIsKnownBeforeItIsReached) {
  put("a.jpg");
  put("out/a.jpg");
  put_text("list", "a.jpg\nout/a.jpg\n");
  expect_kept({"a.jpg", "out/a.jpg"}, {"@list", "out"});
  expect_kept({"a.jpg", "out/a.jpg"}, {"out", "--files-from", "-"}, "a.jpg\nout/a.jpg\n");
  put_text("list", "a.jpg\n" + (folder_ / "out/a.jpg") + "\n");
  expect_kept({"a.jpg", "out/a.jpg"}, {"@list", "out"});
}

// What a manifest tells of is an earlier output, also where the list comes from standard input.
TEST_F(BatchAttack, EarlierOutputsAreReplacedAllTheSame) {
  put("a.jpg");
  put_text("list", "a.jpg\n");
  for (const Words& arguments :
       {Words{"out", "--files-from", "-", "--manifest", "m", "--resume"}, Words{"@list", "out"}}) {
    EXPECT_EQ(batch(arguments, "a.jpg\n").exit_code, 0);
    const Bytes earlier = bytes("out/a.jpg");
    put("a.jpg");
    const Ran again = batch(arguments, "a.jpg\n");
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_NE(bytes("out/a.jpg"), earlier);
  }
  EXPECT_EQ(batch({"a.jpg", "out"}).exit_code, 0);
  put("in/a.jpg");
  EXPECT_EQ(batch({"in", "out"}).exit_code, 0) << "an older file of that name is replaced";
}

TEST_F(BatchAttack, TheListAndTheManifestAreNoOutputs) {
  put("a.jpg");
  put_text("b/a.jpg", "a.jpg\n");
  expect_kept({"b/a.jpg"}, {"@b/a.jpg", "b"});
  const Ran ran = batch({"a.jpg", "c", "--manifest", "c/a.jpg"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_EQ(read_rows(folder_ / "c/a.jpg").size(), 1u);
}

TEST_F(BatchAttack, InPlaceReplacesTheInputItselfAndNoOther) {
  put("a.jpg");
  put("b/a.jpg");
  expect_kept({"a.jpg", "b/a.jpg"}, {"a.jpg", "b/a.jpg", "b", "--in-place"});
  put("elsewhere/private.jpg");
  put("in/own.jpg");
  fs::create_symlink("../elsewhere/private.jpg", folder_ / "in/link.jpg");
  fs::create_directory_symlink("../elsewhere", folder_ / "in/more");
  expect_kept({"elsewhere/private.jpg"}, {"in", "in", "--in-place"});
  EXPECT_EQ(decode_size(bytes("in/own.jpg")), (Size{16, 12}));
}

// On a file system that takes A.jpg and a.jpg for one name two inputs would share an output.
TEST_F(BatchAttack, NamesThatDifferInCaseAreNotOneOutput) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  put("in/A.jpg");
  put("in/a.jpg");
  fs::create_directories(folder_ / "disk");
  const std::string image = folder_ / "image";
  const std::string make = "truncate -s 8M " + image +
                           " && mkfs.ext4 -q -O casefold -E encoding=utf8 " + image +
                           " && mount -o loop " + image + " " + (folder_ / "disk") + " && mkdir " +
                           (folder_ / "disk/out") + " && chattr +F " + (folder_ / "disk/out");
  const bool made = std::system(("(" + make + ") >/dev/null 2>&1").c_str()) == 0;
  const auto unmount = [&] { ::umount2((folder_ / "disk").c_str(), MNT_DETACH); };
  if (!made) {
    unmount();
    GTEST_SKIP() << "no file system without case here";
  }
  const Ran ran = batch({"in", "disk/out"});
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_NE(ran.err.find("another input has the same"), std::string::npos) << ran.err;
  // And an input is not replaced under another spelling of its name.
  put("disk/out/pic.jpg");
  put("PIC.JPG");
  expect_kept({"PIC.JPG", "disk/out/pic.jpg"}, {"PIC.JPG", "disk/out/pic.jpg", "disk/out"});
  const Bytes before = bytes("disk/out/pic.jpg");
  EXPECT_EQ(batch({"disk/out/pic.jpg", "disk/OUT"}).exit_code, 1);
  EXPECT_EQ(bytes("disk/out/pic.jpg"), before);
  unmount();
}

// The same without such a file system: whatever makes two outputs one, the second is told.
TEST_F(BatchAttack, OneOfManyInputsWithOneOutputIsWrittenAndTheOthersAreTold) {
  put("in/a.jpg");
  put("out/a.jpg");
  const auto again = [&] { return batch::open_folder(folder_ / "in", {}); };
  auto folder = batch::OutputFolder::open(folder_ / "out", {{}, folder_ / "in", again}, {});
  ASSERT_TRUE(folder) << folder.error().to_string();
  std::atomic<int> written{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string input = "in/" + std::to_string(i);
      const auto result = (*folder)->commit({folder_ / "out/a.jpg", "a.jpg", input, {}, false},
                                            Bytes(5000, static_cast<std::uint8_t>(i)));
      if (result) {
        ++written;
      } else {
        EXPECT_EQ(result.error().status.code(), StatusCode::kInvalidInput);
        EXPECT_EQ(result.error().status.subject(), input);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written, 1);
  EXPECT_EQ(read_tree(folder_ / "out").size(), 1u);
}

// The folder itself, whoever drives it: names that no batch would let through.
TEST_F(BatchAttack, NamesOfAnySourceLeadNowhereElse) {
  using namespace std::string_literals;
  put("outside.jpg");
  const Bytes before = bytes("outside.jpg");
  batch::KnownInputs inputs;
  inputs.elsewhere = true;
  const auto folder = batch::open_output_folder(folder_ / "out", inputs);
  ASSERT_TRUE(folder) << folder.error().to_string();
  for (const std::string& name :
       {"../outside.jpg"s, folder_ / "outside.jpg", "a/../../outside.jpg"s, "x/../a.jpg"s, ""s,
        "."s, "cut.jpg\0.txt"s}) {
    const auto written = (*folder)->commit({"label", name, "input", {}, false}, Bytes(10, 1));
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().status.code(), StatusCode::kInvalidInput) << name;
    EXPECT_FALSE(written.error().environment);
    const auto found = (*folder)->find(name);
    EXPECT_TRUE(found && !*found) << name << ": what lies outside is nobody's concern";
  }
  EXPECT_EQ(bytes("outside.jpg"), before);
  EXPECT_TRUE(read_tree(folder_ / "out").empty());
}

// A source of somebody's own that hands out files: the folder knows them all the same.
TEST_F(BatchAttack, AForeignSourcesFilesAreNotReplaced) {
  class Named final : public batch::Source {
   public:
    Named(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}
    Result<std::optional<batch::Input>> next() override {
      if (std::exchange(given_, true)) return std::nullopt;
      return batch::Input{path_, name_};
    }
    Result<std::unique_ptr<batch::OpenInput>> open(const batch::Input& input) const override {
      return batch::open_input_file(input.label);
    }

   private:
    const std::string path_;
    const std::string name_;
    bool given_ = false;
  };
  put("out/a.jpg");
  put("out/b.jpg");
  put("in/a.jpg");
  const auto before = read_tree(folder_.path());
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.callers_thread = true;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  // By its own name; among outputs; and what may be an input that is yet to come.
  for (const auto& [input, name] :
       {std::pair("out/a.jpg", "a.jpg"), std::pair("out/b.jpg", "c.jpg"),
        std::pair("in/a.jpg", "a.jpg")}) {
    const auto folder = batch::open_output_folder(std::string(folder_ / "out") + "/", {});
    ASSERT_TRUE(folder);
    EXPECT_EQ((*folder)->label("x.jpg"), std::string(folder_ / "out/x.jpg"));
    Named source(folder_ / input, name);
    batch::Settings settings;
    settings.options.width_px = 16;
    const auto summary = batch::run(source, **folder, *engine, settings);
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->failed, 1u) << input;
    EXPECT_EQ(summary->errors.at("invalid_input"), 1u) << input;
  }
  EXPECT_EQ(read_tree(folder_.path()), before);
}

TEST_F(BatchAttack, NamesWithNulAreRefusedNotCutShort) {
  put("secret.jpg");
  const std::string list("secret.jpg\0.public.jpg\n", 23);
  const Ran ran = batch({"out", "--files-from", "-"}, list);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("line 1 holds a NUL byte"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(folder_ / "out/secret.jpg"));
}

}  // namespace
}  // namespace framewire::test
