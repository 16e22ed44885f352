// Attempts to have outputs read by more people than their inputs, and to have manifests and outputs
// lead to files of somebody else's choice.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <cstdio>
#include <tests/integration/batch_attack.hpp>

namespace framewire::test {
namespace {

class ManifestAttack : public BatchAttack {};

TEST_F(ManifestAttack, AFileThatIsNoManifestIsLeftAlone) {
  put("in/a.jpg");
  for (const std::string& text :
       {std::string("{\"settings\": {\n  \"a\": 1\n}}"), std::string("{}\n{\"b\": 2}"),
        std::string("{\"name\": \"x\", \"status\": \"ok\"}\ntorn"), std::string("{"),
        "{" + std::string(3'000'000, 'x')}) {
    for (const bool resume : {true, false}) {
      put_text("config.json", text);
      Words arguments = {"in", "out", "--manifest", "config.json"};
      if (resume) arguments.emplace_back("--resume");
      const Ran ran = batch(arguments);
      EXPECT_EQ(ran.exit_code, 2) << ran.err;
      EXPECT_NE(ran.err.find("config.json: its first line is no row"), std::string::npos)
          << ran.err;
      EXPECT_EQ(read_text(folder_ / "config.json"), text) << "resume " << resume;
    }
  }
}

// Root would follow any link; a link that somebody else has planted leads it to a file of his
// choice.
TEST_F(ManifestAttack, LinksOfOtherUsersAreNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  put("in/a.jpg");
  put_text("victim", "");
  put("victim.jpg");
  const Bytes victim = bytes("victim.jpg");
  for (const char* name : {"m.jsonl", "out.jpg", "out"}) {
    const std::string link = folder_ / name;
    fs::create_symlink(std::string(name) == "out.jpg" ? "victim.jpg" : "victim", link);
    ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  }
  const Ran manifest = batch({"in", "other", "--manifest", "m.jsonl"});
  EXPECT_EQ(manifest.exit_code, 3);
  EXPECT_NE(manifest.err.find("a link that user 65534 owns"), std::string::npos) << manifest.err;
  EXPECT_EQ(read_text(folder_ / "victim"), "");
  const Ran resize = run_program({"resize", folder_ / "in/a.jpg", folder_ / "out.jpg"});
  EXPECT_EQ(resize.exit_code, 3);
  EXPECT_EQ(bytes("victim.jpg"), victim);
  EXPECT_TRUE(fs::is_symlink(folder_ / "out.jpg"));
  fs::remove(folder_ / "victim");
  fs::create_directories(folder_ / "victim");
  EXPECT_EQ(batch({"in", "out"}).exit_code, 3);
  EXPECT_TRUE(fs::is_empty(folder_ / "victim"));
}

std::string fmt_mode(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%o", static_cast<unsigned>(mode));
  return text;
}

class PermissionsAttack : public BatchAttack {
 protected:
  [[nodiscard]] mode_t mode(const std::string& name) const {
    struct stat facts {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &facts), 0) << name;
    return facts.st_mode & 07777;
  }
  void put(const std::string& name, mode_t mode) {
    BatchAttack::put(name);
    ASSERT_EQ(::chmod((folder_ / name).c_str(), mode), 0);
  }
  Ran resize(Words words) {
    words.insert(words.begin(), "resize");
    words.insert(words.end(), {"--size", "16"});
    return run_program(words, {}, [&] {
      ::umask(022);
      if (::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    });
  }
};

TEST_F(PermissionsAttack, AnOutputIsNeverWiderThanItsInput) {
  for (const mode_t wanted : {0600, 0640, 0644, 0444, 0400}) {
    const std::string name = fmt_mode(wanted);
    put(name + ".jpg", wanted);
    EXPECT_EQ(resize({name + ".jpg", name + "-out.jpg"}).exit_code, 0);
    EXPECT_EQ(mode(name + "-out.jpg"), wanted);
    put("in/" + name + ".jpg", wanted);
  }
  put("wide.jpg", 0777);
  EXPECT_EQ(resize({"wide.jpg", "narrow.jpg"}).exit_code, 0);
  EXPECT_EQ(mode("narrow.jpg"), 0644u) << "no program, and the umask counts";
  EXPECT_EQ(batch({"in", "out"}).exit_code, 0);
  EXPECT_EQ(mode("out/600.jpg"), 0600u);
  EXPECT_EQ(mode("out/640.jpg"), 0640u);
}

TEST_F(PermissionsAttack, UnlessAskedForOrFromStandardInput) {
  put("a.jpg", 0600);
  EXPECT_EQ(resize({"a.jpg", "out.jpg", "--mode", "664"}).exit_code, 0);
  EXPECT_EQ(mode("out.jpg"), 0664u);
  EXPECT_EQ(resize({"a.jpg", "o.jpg", "--mode", "888"}).exit_code, 2);
  // A redirected file is a file: its mode counts.
  const std::string line = std::string(FRAMEWIRE_PROGRAM) + " resize - " + (folder_ / "in.jpg") +
                           " <" + (folder_ / "a.jpg") + " 2>/dev/null";
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(mode("in.jpg"), 0600u);
}

TEST_F(PermissionsAttack, AnExistingFileDoesNotOpenWhatThePrivateInputHolds) {
  put("private.jpg", 0600);
  put("public.jpg", 0666);
  EXPECT_EQ(resize({"private.jpg", "public.jpg"}).exit_code, 0);
  EXPECT_EQ(mode("public.jpg"), 0600u);
  if (::geteuid() != 0) return;
  // A file of another user's, who may read it whatever its mode.
  put("bait.jpg", 0666);
  ASSERT_EQ(::chown((folder_ / "bait.jpg").c_str(), 65534, 65534), 0);
  EXPECT_EQ(resize({"private.jpg", "bait.jpg"}).exit_code, 0);
  struct stat facts {};
  ASSERT_EQ(::stat((folder_ / "bait.jpg").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0u);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

TEST_F(PermissionsAttack, NewFoldersAreNotWiderThanTheInputs) {
  put("in/closed/a.jpg", 0644);
  put("in/open/a.jpg", 0644);
  fs::permissions(folder_ / "in/closed", fs::perms::owner_all);
  EXPECT_EQ(batch({"in", "out"}).exit_code, 0);
  EXPECT_EQ(mode("out/closed"), 0700u);
  EXPECT_NE(mode("out/open"), 0700u);
  fs::permissions(folder_ / "in", fs::perms::owner_all);
  EXPECT_EQ(batch({"in", "out2"}).exit_code, 0);
  EXPECT_EQ(mode("out2"), 0700u);
}

TEST_F(PermissionsAttack, InPlaceKeepsModeAndOwner) {
  for (const mode_t wanted : {0600, 0640, 0444, 0755}) {
    put("a.jpg", wanted);
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown((folder_ / "a.jpg").c_str(), 1234, 2345), 0);
    }
    EXPECT_EQ(resize({"a.jpg", "a.jpg", "--in-place"}).exit_code, 0);
    EXPECT_EQ(mode("a.jpg"), wanted);
    if (::geteuid() != 0) continue;
    struct stat facts {};
    ASSERT_EQ(::stat((folder_ / "a.jpg").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, 1234u);
    EXPECT_EQ(facts.st_gid, 2345u);
  }
  put("a.jpg", 06755);
  EXPECT_EQ(resize({"a.jpg", "a.jpg", "--in-place"}).exit_code, 0);
  EXPECT_EQ(mode("a.jpg"), 0755u) << "the new content has no rights of its own";
}

// An ACL as setfacl writes it: user::rw-, user:4321:r--, group::---, mask::r--, other::---. The
// mode reads 0640, though the owning group may read nothing.
std::vector<std::uint8_t> acl_for_one_user() {
  std::vector<std::uint8_t> bytes = {2, 0, 0, 0};
  const auto entry = [&](std::uint8_t tag, std::uint8_t bits, std::uint32_t id) {
    bytes.insert(bytes.end(), {tag, 0, bits, 0});
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::uint8_t>(id >> shift));
    }
  };
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  entry(0x01, 6, kNone);
  entry(0x02, 4, 4321);
  entry(0x04, 0, kNone);
  entry(0x10, 4, kNone);
  entry(0x20, 0, kNone);
  return bytes;
}

TEST_F(PermissionsAttack, AccessControlListsAreKeptInPlaceAndNeverWidened) {
  constexpr const char* kName = "system.posix_acl_access";
  const auto acl = acl_for_one_user();
  put("a.jpg", 0600);
  const std::string path = folder_ / "a.jpg";
  if (::setxattr(path.c_str(), kName, acl.data(), acl.size(), 0) != 0) {
    GTEST_SKIP() << "no ACLs here";
  }
  ASSERT_EQ(mode("a.jpg"), 0640u);
  EXPECT_EQ(resize({"a.jpg", "out.jpg"}).exit_code, 0);
  EXPECT_EQ(mode("out.jpg"), 0600u) << "the owning group could not read the input";
  (void)::setxattr(path.c_str(), "user.note", "kept", 4, 0);
  EXPECT_EQ(resize({"a.jpg", "a.jpg", "--in-place"}).exit_code, 0);
  std::vector<std::uint8_t> after(200);
  const ssize_t got = ::getxattr(path.c_str(), kName, after.data(), after.size());
  after.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_EQ(after, acl);
  char note[8] = {};
  EXPECT_EQ(::getxattr(path.c_str(), "user.note", note, sizeof note), 4);
  EXPECT_STREQ(note, "kept");
}

// What meets every output ends the batch; what meets those of one folder does not.
TEST_F(PermissionsAttack, AnOutputFolderThatIsNotOursEndsTheBatch) {
  fs::permissions(folder_.path(), fs::perms::all);
  for (int i = 0; i < 40; ++i) put("in/" + std::to_string(i) + ".jpg", 0644);
  for (int i = 0; i < 3; ++i) put("in/sub/" + std::to_string(i) + ".jpg", 0644);
  const auto as_nobody = [&](const std::string& words) {
    const std::string user =
        ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    const std::string line = "cd " + folder_.path().string() + " && " + user + FRAMEWIRE_PROGRAM +
                             " " + words + " --jobs 1 >said 2>&1";
    return WEXITSTATUS(std::system(line.c_str()));
  };
  if (as_nobody("--version") != 0) GTEST_SKIP() << "another user cannot run the program";
  const auto closed = fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                      fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec;
  fs::create_directories(folder_ / "out/sub");
  fs::permissions(folder_ / "out", closed);
  EXPECT_EQ(as_nobody("batch in out --size 16 --json"), 3);
  const std::string said = read_text(folder_ / "said");
  EXPECT_NE(said.find("stopped: io_error: out/"), std::string::npos) << said;
  // Those that are in work together: one, or a group where the program was built for GPUs.
  constexpr std::string_view kFailed = "\"failed\": ";
  const std::size_t failed = said.find(kFailed);
  ASSERT_NE(failed, std::string::npos) << said;
  EXPECT_LE(std::stoi(said.substr(failed + kFailed.size())), 32) << said;
  fs::permissions(folder_ / "out", fs::perms::all);
  fs::permissions(folder_ / "out/sub", closed);
  EXPECT_EQ(as_nobody("batch in out --size 16 --json"), 1);
  EXPECT_EQ(read_tree(folder_ / "out").size(), 40u);

  const std::string line = "cd " + folder_.path().string() +
                           " && tar cf a.tar in/1.jpg && cp a.tar b.tar && mkdir shards free && "
                           "chmod 555 shards && chmod 777 free";
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(as_nobody("batch a.tar b.tar shards --size 16"), 3);
  EXPECT_EQ(as_nobody("batch a.tar b.tar free --manifest shards --size 16"), 3);
  EXPECT_EQ(as_nobody("batch a.tar b.tar out/sub/x --unpack --size 16"), 3);
}

// Another user's claim keeps a shard from being made twice while that user's batch lives, and no
// longer. One whose lock cannot be seen is named, and costs its own shard alone.
TEST_F(PermissionsAttack, ClaimsOfOtherUsersAreSeen) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs two users";
  fs::permissions(folder_.path(), fs::perms::all);
  put("1.jpg", 0644);
  const std::string prepare = "cd " + folder_.path().string() +
                              " && tar cf a.tar 1.jpg && cp a.tar b.tar && mkdir out && "
                              "chmod 777 out && : >out/.framewire-a.tar.tmp";
  ASSERT_EQ(std::system(prepare.c_str()), 0);
  const std::string claim = folder_ / "out/.framewire-a.tar.tmp";
  const auto as_nobody = [&] {
    const std::string line = "cd " + folder_.path().string() +
                             " && setpriv --reuid=65534 --regid=65534 --clear-groups " +
                             FRAMEWIRE_PROGRAM +
                             " batch a.tar b.tar out --size 16 --resume >said 2>&1";
    const int code = WEXITSTATUS(std::system(line.c_str()));
    return std::pair(code, read_text(folder_ / "said"));
  };
  {
    const base::FileDescriptor held(::open(claim.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
    const auto [code, said] = as_nobody();
    EXPECT_NE(said.find("1 in work elsewhere"), std::string::npos) << said;
    EXPECT_TRUE(fs::exists(folder_ / "out/b.tar")) << said;
    EXPECT_FALSE(fs::exists(folder_ / "out/a.tar")) << said;
    fs::permissions(claim, fs::perms::owner_read);
    const auto [unseen, told] = as_nobody();
    EXPECT_EQ(unseen, 1) << told;
    EXPECT_NE(told.find("out/.framewire-a.tar.tmp: cannot claim the shard"), std::string::npos)
        << told;
    fs::permissions(claim, fs::perms::owner_read | fs::perms::others_read);
  }
  EXPECT_EQ(as_nobody().first, 0);
  EXPECT_TRUE(fs::exists(folder_ / "out/a.tar"));
}

// Without the right to give files away the owner is another one, and nobody else gains by it.
TEST_F(PermissionsAttack, WithoutTheOldOwnerNobodyGains) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs two users";
  fs::permissions(folder_.path(), fs::perms::all);
  put("a.jpg", 0664);
  ASSERT_EQ(::chown((folder_ / "a.jpg").c_str(), 1234, 2345), 0);
  put("b.jpg", 0644);
  ASSERT_EQ(::chown((folder_ / "b.jpg").c_str(), 1234, 2345), 0);
  const auto as_nobody = [&](const std::string& name) {
    const std::string line =
        "cd " + folder_.path().string() +
        " && umask 022 && setpriv --reuid=65534 --regid=65534 --clear-groups " + FRAMEWIRE_PROGRAM +
        " resize " + name + " " + name + " --in-place --size 16 2>/dev/null";
    return std::system(line.c_str()) == 0;
  };
  if (!as_nobody("a.jpg")) GTEST_SKIP() << "another user cannot run the program from its folder";
  EXPECT_EQ(decode_size(bytes("a.jpg")), (Size{16, 12}));
  EXPECT_EQ(mode("a.jpg"), 0644u) << "another group than the one that could write";
  EXPECT_TRUE(as_nobody("b.jpg"));
  EXPECT_EQ(mode("b.jpg"), 0644u);
}

}  // namespace
}  // namespace framewire::test
