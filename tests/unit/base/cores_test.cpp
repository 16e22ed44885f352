#include <gtest/gtest.h>
#include <sched.h>
#include <base/cores.hpp>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace framewire::base {
namespace {

namespace fs = std::filesystem;

/// A root in which the process is in a group, and groups have quotas.
class CoresOfQuota : public ::testing::Test {
 protected:
  CoresOfQuota() {
    std::string path = (fs::temp_directory_path() / "fw_cores_XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
  }
  ~CoresOfQuota() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  void is_in(const std::string& lines) const { write("/proc/self/cgroup", lines); }
  void quota(const std::string& group, const std::string& text) const {
    write("/sys/fs/cgroup" + group + "/cpu.max", text);
  }

  std::string root_;
};

TEST_F(CoresOfQuota, AreNoneWithoutGroups) { EXPECT_EQ(cores_of_quota(root_), UINT_MAX); }

TEST_F(CoresOfQuota, AreThoseOfTheOwnGroupRoundedUp) {
  is_in("0::/pods/one\n");
  quota("/pods/one", "250000 100000\n");
  EXPECT_EQ(cores_of_quota(root_), 3u);
  quota("/pods/one", "50000 100000\n");
  EXPECT_EQ(cores_of_quota(root_), 1u);
  quota("/pods/one", "400000 100000\n");
  EXPECT_EQ(cores_of_quota(root_), 4u);
  quota("/pods/one", "max 100000\n");
  EXPECT_EQ(cores_of_quota(root_), UINT_MAX);
}

TEST_F(CoresOfQuota, AreTheLeastOfAllGroupsAbove) {
  is_in("0::/pods/one/inner\n");
  quota("/pods/one/inner", "800000 100000\n");
  quota("/pods", "200000 100000\n");
  EXPECT_EQ(cores_of_quota(root_), 2u);
  quota("", "100000 100000\n");
  EXPECT_EQ(cores_of_quota(root_), 1u);
}

// In a container whose groups have the host's names, or none.
TEST_F(CoresOfQuota, AreFoundAtTheTopOfWhatAContainerSees) {
  quota("", "600000 100000\n");
  for (const char* group : {"0::/\n", "0::/system.slice/docker-1.scope\n", "0::/../../x\n"}) {
    is_in(group);
    EXPECT_EQ(cores_of_quota(root_), 6u) << group;
  }
}

TEST_F(CoresOfQuota, ComeFromTheUnifiedHierarchyAlone) {
  is_in("4:cpu,cpuacct:/old\n0::/new\n");
  quota("/old", "100000 100000\n");
  quota("/new", "700000 100000\n");
  EXPECT_EQ(cores_of_quota(root_), 7u);
}

TEST_F(CoresOfQuota, AreNoneWhereTheFileSaysSomethingElse) {
  is_in("0::/x\n");
  for (const char* text : {"", "\n", "100000", "100000 ", "100000 0\n", "-1 100000\n", "many 1\n",
                           "99999999999999999999999 1\n"}) {
    quota("/x", text);
    EXPECT_EQ(cores_of_quota(root_), UINT_MAX) << text;
  }
  quota("/x", "18446744073709551615 1\n");
  EXPECT_EQ(cores_of_quota(root_), UINT_MAX);
}

TEST(UsableCores, AreThoseOnWhichTheThreadMayRun) {
  unsigned one = 0;
  std::thread([&one] {
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t single;
    CPU_ZERO(&single);
    CPU_SET(first, &single);
    ASSERT_EQ(::sched_setaffinity(0, sizeof single, &single), 0);
    one = usable_cores();
  }).join();
  EXPECT_EQ(one, 1u);
  EXPECT_GE(usable_cores(), 1u);
}

}  // namespace
}  // namespace framewire::base
