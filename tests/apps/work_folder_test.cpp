// What runs of framewire bench serve that were killed have left, and what is not theirs.
#ifdef FRAMEWIRE_SERVICE

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>
#include <commands/bench/serve/work_folder.hpp>
#include <filesystem>
#include <fstream>
#include <string>

namespace framewire::app::bench_serve {
namespace {

namespace fs = std::filesystem;

class WorkFolderAttack : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "framewire-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    place_ = pattern;
  }
  void TearDown() override { fs::remove_all(place_); }

  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// A folder as a killed run leaves it: nobody holds its lock.
  [[nodiscard]] fs::path leave_folder(const std::string& name) const {
    const fs::path folder = place_ / name;
    write(folder / "lock", "framewire bench serve\n");
    write(folder / "in/0.jpg", "a picture");
    write(folder / "out0/1.jpg", "another");
    return folder;
  }
  [[nodiscard]] std::size_t clean() const { return remove_folders_of_dead_runs(place_.string()); }

  fs::path place_;
};

TEST_F(WorkFolderAttack, ALiveRunKeepsItsFolderAndADeadOneDoesNot) {
  auto live = WorkFolder::make(place_.string());
  ASSERT_TRUE(live) << live.error().to_string();
  const fs::path dead = leave_folder("framewire-bench-aB3xyz");
  EXPECT_EQ(clean(), 1u);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(live->path() + "/in"));
  // As a killed run leaves it: its descriptors are closed, and nothing was deleted.
  const fs::path copy = place_ / "framewire-bench-copied";
  fs::copy(live->path(), copy, fs::copy_options::recursive);
  EXPECT_EQ(clean(), 1u) << "what a run makes is what the next one knows";
  EXPECT_FALSE(fs::exists(copy));
}

TEST_F(WorkFolderAttack, FoldersOfOthersStay) {
  const fs::path unmarked = place_ / "framewire-bench-000000";
  write(unmarked / "in/0.jpg", "a picture");
  const fs::path elses = place_ / "framewire-bench-111111";
  write(elses / "lock", "of another program\n");
  const fs::path longer = leave_folder("framewire-bench-2222222");
  const fs::path other = leave_folder("framewire-batch-333333");
  for (const auto& folder : {unmarked, elses, longer, other}) {
    EXPECT_EQ(clean(), 0u);
    EXPECT_TRUE(fs::exists(folder)) << folder;
  }
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to somebody else";
  const fs::path strangers = leave_folder("framewire-bench-444444");
  ASSERT_EQ(::chown(strangers.c_str(), 65534, 65534), 0);
  EXPECT_EQ(clean(), 0u);
  const fs::path planted = leave_folder("framewire-bench-555555");
  ASSERT_EQ(::chown((planted / "lock").c_str(), 65534, 65534), 0);
  EXPECT_EQ(clean(), 0u);
  EXPECT_TRUE(fs::exists(strangers / "in/0.jpg") && fs::exists(planted / "in/0.jpg"));
}

TEST_F(WorkFolderAttack, LinksAreNotFollowed) {
  const fs::path precious = leave_folder("precious");
  fs::create_directory_symlink(precious, place_ / "framewire-bench-666666");
  EXPECT_EQ(clean(), 0u);
  EXPECT_TRUE(fs::exists(precious / "in/0.jpg"));
  // A link inside goes; where it leads stays. So does a file that a lock is linked to.
  const fs::path dead = leave_folder("framewire-bench-777777");
  fs::create_directory_symlink(precious, dead / "in/link");
  EXPECT_EQ(clean(), 1u);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(precious / "in/0.jpg"));
  const fs::path linked = leave_folder("framewire-bench-888888");
  fs::remove(linked / "lock");
  fs::create_symlink(precious / "lock", linked / "lock");
  EXPECT_EQ(clean(), 0u);
  EXPECT_TRUE(fs::exists(linked / "in/0.jpg"));
}

TEST_F(WorkFolderAttack, AHeldLockIsRespectedWhoeverHoldsIt) {
  const fs::path folder = leave_folder("framewire-bench-999999");
  const int lock = ::open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_SH), 0);
  EXPECT_EQ(clean(), 0u);
  EXPECT_TRUE(fs::exists(folder / "in/0.jpg"));
  ::close(lock);
  EXPECT_EQ(clean(), 1u);
}

}  // namespace
}  // namespace framewire::app::bench_serve

#endif
