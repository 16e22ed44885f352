// Folders that output shards lie in.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>
#include <tests/integration/cli_shards.hpp>

namespace framewire::test {
namespace {

class CliShardFolders : public CliShards {
 protected:
  /// A batch over in/a.tar and in/sub/b.tar, where a folder is a mount.
  /// @return nothing where mounts are not allowed
  [[nodiscard]] std::optional<Ran> run_with_mount(const std::string& at, const Words& more) const {
    fs::create_directories(folder_ / at);
    const Ran ran = run_program(batch("{a,sub/b}.tar", more), {}, [&] {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount((folder_ / "in").c_str(), (folder_ / at).c_str(), nullptr, MS_BIND, nullptr) !=
              0) {
        ::_exit(125);
      }
    });
    if (ran.exit_code == 125) return std::nullopt;
    return ran;
  }
};

// Outputs that are files do not, either.
TEST_F(CliShardFolders, AttackMountsBelowTheOutputFolderAreNotEntered) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  make_shard("a", 2);
  make_shard("sub/b", 2);
  const auto inputs = read_tree(folder_ / "in");
  for (const auto& [mount, more] :
       {std::pair<std::string, Words>("out/sub", {}),
        std::pair<std::string, Words>("rows/sub", {"--manifest", folder_ / "rows"})}) {
    fs::remove_all(folder_ / "out");
    const auto ran = run_with_mount(mount, more);
    if (!ran) GTEST_SKIP() << "mounts are not allowed here";
    EXPECT_EQ(ran->exit_code, 1) << ran->err;
    EXPECT_TRUE(contains(ran->err, "invalid_input")) << ran->err;
    EXPECT_TRUE(contains(ran->err, "its folder sub is a mount of its own")) << ran->err;
    EXPECT_FALSE(out("a.tar").empty()) << "the others are made";
    EXPECT_FALSE(fs::exists(folder_ / "out/sub/b.tar"));
    EXPECT_EQ(read_tree(folder_ / "in"), inputs);
  }
}

}  // namespace
}  // namespace framewire::test
