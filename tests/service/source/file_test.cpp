#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <atomic>
#include <service/source/body.hpp>
#include <service/source/file_reader.hpp>
#include <tests/service/support/fake_network.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::source {
namespace {

using test::TemporaryFolder;

// Both ways of walking a path.
class SourceFiles : public ::testing::TestWithParam<FileRoot::Walk> {
 protected:
  [[nodiscard]] FileRoot open(const std::filesystem::path& folder) const {
    auto root = FileRoot::open(folder.string());
    EXPECT_TRUE(root);
    if (GetParam() == FileRoot::Walk::kComponents) root->walk_by_components();
    return std::move(*root);
  }
  void SetUp() override {
    if (GetParam() == FileRoot::Walk::kKernel &&
        FileRoot::open(folder_.path().string())->walk() != FileRoot::Walk::kKernel) {
      GTEST_SKIP() << "this kernel or sandbox has no openat2()";
    }
  }

  Fetched<Original> read(std::string_view path, const FetchRequest& request = {},
                         const std::function<void()>& between = {}) {
    const FileRoot root = open(folder_.path());
    Body body(allocate_, budget_, max_bytes_, anything_);
    return read_file(root, path, request, {}, body, between);
  }
  FetchErrorKind refusal(std::string_view path) {
    const auto original = read(path);
    EXPECT_FALSE(original) << path;
    return original ? FetchErrorKind::kBusy : original.error().kind;
  }

  TemporaryFolder outside_;
  TemporaryFolder folder_;
  Allocate allocate_;
  std::function<bool(std::size_t, std::size_t)> anything_;
  Budget budget_{std::size_t{1} << 30};
  std::size_t max_bytes_ = std::size_t{8} << 20;
};

class SourceFilesAttack : public SourceFiles {};

// Lets the times of a file grow old enough to tell its next change.
void wait_until_settled() { std::this_thread::sleep_for(std::chrono::milliseconds(120)); }

TEST_P(SourceFiles, AreReadWholeAndDescribed) {
  const std::string jpeg = "\xff\xd8 not much of a JPEG";
  folder_.write("photos/a.jpg", jpeg);
  folder_.write("empty", "");
  wait_until_settled();
  const auto original = read("/photos/a.jpg");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(test::text(*original), jpeg);
  EXPECT_EQ(original->content_type, "image/jpeg");
  EXPECT_EQ(original->url, "local:///photos/a.jpg");
  EXPECT_TRUE(original->etag.starts_with('"') && original->etag.ends_with('"')) << original->etag;
  const auto empty = read("/empty");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->bytes.empty());
  EXPECT_EQ(empty->content_type, "");
}

TEST_P(SourceFiles, TheEtagIsOfThisVersionAlone) {
  const auto file = folder_.write("a.jpg", "one");
  wait_until_settled();
  const std::string first = read("/a.jpg")->etag;
  EXPECT_EQ(read("/a.jpg")->etag, first);
  // As long, and with the old date: the time of the change tells.
  const auto date = std::filesystem::last_write_time(file);
  folder_.write("a.jpg", "two");
  std::filesystem::last_write_time(file, date);
  // A change may follow in the same tick. On a busy machine 100 ms can pass before it is read.
  std::string soon = read("/a.jpg")->etag;
  for (int tries = 0; tries < 20 && !soon.empty(); ++tries) {
    folder_.write("a.jpg", "two");
    std::filesystem::last_write_time(file, date);
    soon = read("/a.jpg")->etag;
  }
  EXPECT_EQ(soon, "");
  wait_until_settled();
  const std::string second = read("/a.jpg")->etag;
  EXPECT_NE(second, "");
  EXPECT_NE(second, first);
  folder_.write("b.jpg", "two");
  std::filesystem::rename(folder_.path() / "b.jpg", file);
  std::filesystem::last_write_time(file, date);
  wait_until_settled();
  EXPECT_NE(read("/a.jpg")->etag, second);
}

TEST_P(SourceFiles, ConditionsSpareTheReading) {
  const auto file = folder_.write("a.jpg", "one");
  wait_until_settled();
  const auto original = read("/a.jpg");
  FetchRequest request;
  request.if_none_match = original->etag;
  const auto again = read("/a.jpg", request);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->not_modified);
  EXPECT_TRUE(again->bytes.empty());
  EXPECT_EQ(again->etag, original->etag);
  request.if_none_match = "\"other\"";
  request.if_modified_since = original->last_modified;
  EXPECT_FALSE(read("/a.jpg", request)->not_modified) << "the date means nothing beside an ETag";
  request.if_none_match.clear();
  EXPECT_TRUE(read("/a.jpg", request)->not_modified);
  request.if_modified_since = "Sun, 06 Nov 1994 08:49:37 GMT";
  EXPECT_FALSE(read("/a.jpg", request)->not_modified);
  request.if_modified_since = "no date";
  EXPECT_FALSE(read("/a.jpg", request)->not_modified);
}

TEST_P(SourceFiles, DatesAreHttps) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(std::numeric_limits<std::int64_t>::max()), "");
  EXPECT_EQ(http_date(300'000'000'000), "");
}

TEST_P(SourceFilesAttack, WhatIsNoRegularFileIsNotFound) {
  std::filesystem::create_directory(folder_.path() / "folder.jpg");
  ASSERT_EQ(::mkfifo((folder_.path() / "fifo.jpg").c_str(), 0644), 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (folder_.path() / "socket.jpg").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  std::filesystem::create_symlink("/dev/zero", folder_.path() / "zero.jpg");
  for (const char* path : {"/folder.jpg", "/fifo.jpg", "/socket.jpg", "/zero.jpg", "/none.jpg",
                           "/none/a.jpg", "/fifo.jpg/a.jpg"}) {
    EXPECT_EQ(refusal(path), FetchErrorKind::kNotFound) << path;
  }
  ::close(fd);
}

TEST_P(SourceFilesAttack, LinksOutOfTheRootAreNotFollowed) {
  outside_.write("secret.jpg", "secret");
  folder_.write("in/a.jpg", "inside");
  const auto link = [&](const std::string& to, const char* name) {
    std::filesystem::create_symlink(to, folder_.path() / name);
  };
  link((outside_.path() / "secret.jpg").string(), "absolute.jpg");
  link("../" + outside_.path().filename().string() + "/secret.jpg", "relative.jpg");
  link(outside_.path().string(), "folder");
  link("..", "up");
  link("loop.jpg", "loop.jpg");
  link("/proc/self/root", "magic");
  link("/proc/self/fd", "descriptors");
  // Inside by its end, outside on its way.
  link("../" + folder_.path().filename().string() + "/in/a.jpg", "around.jpg");
  link((folder_.path() / "in/a.jpg").string(), "inside_absolute.jpg");
  for (const std::string& path :
       {std::string("/absolute.jpg"), std::string("/relative.jpg"),
        std::string("/folder/secret.jpg"),
        "/up/" + outside_.path().filename().string() + "/secret.jpg", std::string("/loop.jpg"),
        std::string("/magic/etc/passwd"), std::string("/descriptors/0"), std::string("/around.jpg"),
        std::string("/inside_absolute.jpg")}) {
    EXPECT_EQ(refusal(path), FetchErrorKind::kNotFound) << path;
  }
}

TEST_P(SourceFilesAttack, LinksInsideTheRootAreFollowedByTheKernelAlone) {
  folder_.write("in/a.jpg", "inside");
  std::filesystem::create_symlink("in/a.jpg", folder_.path() / "link.jpg");
  std::filesystem::create_symlink("in", folder_.path() / "way");
  for (const char* path : {"/link.jpg", "/way/a.jpg"}) {
    const auto original = read(path);
    EXPECT_EQ(original.has_value(), GetParam() == FileRoot::Walk::kKernel) << path;
    if (original) {
      EXPECT_EQ(test::text(*original), "inside");
    }
  }
}

TEST_P(SourceFilesAttack, HiddenNamesAndPathsThatAreNone) {
  folder_.write(".hidden.jpg", "hidden");
  folder_.write(".git/a.jpg", "hidden");
  folder_.write("a/.b/c.jpg", "hidden");
  outside_.write("secret.jpg", "secret");
  const std::string up = "/../" + outside_.path().filename().string() + "/secret.jpg";
  for (const std::string& path :
       {std::string("/.hidden.jpg"), std::string("/.git/a.jpg"), std::string("/a/.b/c.jpg"), up,
        "/a" + up, std::string("/"), std::string(), std::string("a/.b/c.jpg"),
        std::string("/a.jpg\0b", 8)}) {
    EXPECT_EQ(refusal(path), FetchErrorKind::kNotFound) << path;
  }
}

// Each of its files would be "not found", and nothing would say why.
TEST(SourceFileRoot, ThatThisUserMayNotEnterIsRefused) {
  const test::TemporaryFolder folder;
  folder.write("a.jpg", "a");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::none);
  std::optional<Status> refused;
  std::thread([&] {
    // Of this thread alone; without it root may enter any folder.
    if (::geteuid() == 0) ::setfsuid(65'534);
    const auto root = FileRoot::open(folder.path().string());
    if (!root) refused = root.error();
  }).join();
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), StatusCode::kIoError);
  EXPECT_EQ(refused->subject(), folder.path().string());
  EXPECT_NE(refused->message().find("accepted: a folder that"), std::string::npos)
      << refused->message();
  EXPECT_TRUE(FileRoot::open(folder.path().string()));
}

// As volumes of Kubernetes (..data) and git-annex have them.
TEST(SourceFileLinks, LeadToHiddenNamesBelowTheRoot) {
  const test::TemporaryFolder folder;
  folder.write("..2026_01/a.jpg", "published");
  std::filesystem::create_symlink("..2026_01", folder.path() / "..data");
  std::filesystem::create_symlink("..data/a.jpg", folder.path() / "a.jpg");
  const auto root = FileRoot::open(folder.path().string());
  ASSERT_TRUE(root);
  if (!root->open_file("/a.jpg")) GTEST_SKIP() << "no openat2, and so no links";
  EXPECT_FALSE(root->open_file("/..data/a.jpg"));
  EXPECT_FALSE(root->open_file("/..2026_01/a.jpg"));
}

// A folder on the way is swapped for a link out of the root, over and over, while it is read.
TEST_P(SourceFilesAttack, APathThatChangesWhileItIsWalkedNeverLeadsOut) {
  outside_.write("a.jpg", "secret");
  folder_.write("way/a.jpg", "inside");
  std::filesystem::create_symlink(outside_.path(), folder_.path() / "other");
  const std::string way = (folder_.path() / "way").string();
  const std::string other = (folder_.path() / "other").string();
  std::atomic<bool> done = false;
  std::thread swapper([&] {
    while (!done) {
      (void)::syscall(SYS_renameat2, AT_FDCWD, way.c_str(), AT_FDCWD, other.c_str(),
                      2U /* RENAME_EXCHANGE */);
    }
  });
  int read_inside = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  const auto latest = end + std::chrono::minutes(1);  // where the machine is busy
  for (auto now = end; now < end || (read_inside == 0 && now < latest);
       now = std::chrono::steady_clock::now()) {
    const auto original = read("/way/a.jpg");
    if (!original) continue;
    ++read_inside;
    ASSERT_EQ(test::text(*original), "inside");
  }
  done = true;
  swapper.join();
  EXPECT_GT(read_inside, 0);
}

TEST_P(SourceFilesAttack, AFileThatChangesWhileItIsReadIsNeverHalf) {
  const std::string old_bytes(3'000'000, 'a');
  const std::string new_bytes(3'000'000, 'b');
  const auto file = folder_.write("a.jpg", old_bytes);
  // Truncated once: the second reading brings all of the new, shorter file.
  bool changed = false;
  auto original = read("/a.jpg", {}, [&] {
    if (!std::exchange(changed, true)) std::filesystem::resize_file(file, 1'500'000);
  });
  ASSERT_TRUE(original);
  EXPECT_EQ(original->bytes.size(), 1'500'000U);
  // Grown each time: given up.
  std::uintmax_t size = 1'500'000;
  original = read("/a.jpg", {}, [&] { std::filesystem::resize_file(file, ++size); });
  ASSERT_FALSE(original);
  EXPECT_EQ(original.error().kind, FetchErrorKind::kIo);
  // Replaced by a rename: either all of the old file or all of the new one.
  folder_.write("b.jpg", new_bytes);
  changed = false;
  original = read("/a.jpg", {}, [&] {
    if (!std::exchange(changed, true)) std::filesystem::rename(folder_.path() / "b.jpg", file);
  });
  ASSERT_TRUE(original);
  const std::string text = test::text(*original);
  EXPECT_TRUE(text == new_bytes || text.find('b') == std::string::npos);
  // Overwritten in place, as long as before.
  wait_until_settled();
  folder_.write("a.jpg", old_bytes);
  wait_until_settled();
  changed = false;
  original = read("/a.jpg", {}, [&] {
    if (!std::exchange(changed, true)) folder_.write("a.jpg", new_bytes);
  });
  ASSERT_TRUE(original);
  EXPECT_EQ(test::text(*original), new_bytes);
}

TEST_P(SourceFilesAttack, TooLargeIsSaidBeforeMemoryIsTaken) {
  const auto file = folder_.write("a.jpg", "");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);  // sparse
  std::size_t asked = 0;
  allocate_ = [&](std::size_t bytes) -> Result<InputSlice> {
    asked = bytes;
    return fail(StatusCode::kBusy, "none");
  };
  EXPECT_EQ(refusal("/a.jpg"), FetchErrorKind::kTooLarge);
  EXPECT_EQ(asked, 0U);
  std::filesystem::resize_file(file, max_bytes_);
  EXPECT_EQ(refusal("/a.jpg"), FetchErrorKind::kBusy);
  EXPECT_EQ(asked, max_bytes_);
}

TEST_P(SourceFilesAttack, MemoryThatRunsOutIsAnswered) {
  folder_.write("a.jpg", "bytes");
  allocate_ = [](std::size_t) -> Result<InputSlice> { throw std::bad_alloc(); };
  EXPECT_EQ(refusal("/a.jpg"), FetchErrorKind::kBusy);
  allocate_ = {};
  ASSERT_TRUE(budget_.take((std::size_t{1} << 30) - 4));
  EXPECT_EQ(refusal("/a.jpg"), FetchErrorKind::kBusy);
}

INSTANTIATE_TEST_SUITE_P(Walks, SourceFiles,
                         ::testing::Values(FileRoot::Walk::kKernel, FileRoot::Walk::kComponents),
                         [](const auto& row) {
                           return row.param == FileRoot::Walk::kKernel ? "Kernel" : "Components";
                         });
INSTANTIATE_TEST_SUITE_P(Walks, SourceFilesAttack,
                         ::testing::Values(FileRoot::Walk::kKernel, FileRoot::Walk::kComponents),
                         [](const auto& row) {
                           return row.param == FileRoot::Walk::kKernel ? "Kernel" : "Components";
                         });

/// FetchRequest::may_hold of somebody who does not care.
const std::function<bool(std::size_t, std::size_t)> anything;

TEST(SourceBody, MemoryIsTakenOnceWhereTheLengthIsKnown) {
  std::vector<std::size_t> asked;
  std::vector<std::uint8_t> memory(100);
  const Allocate allocate = [&](std::size_t bytes) -> Result<InputSlice> {
    asked.push_back(bytes);
    return InputSlice{std::span(memory).first(bytes), std::make_shared<int>(0)};
  };
  Budget budget(100);
  Body body(allocate, budget, 100, anything);
  ASSERT_FALSE(body.expect(10));
  const std::vector<std::uint8_t> part = {1, 2, 3, 4, 5};
  ASSERT_FALSE(body.append(part));
  ASSERT_FALSE(body.append(part));
  EXPECT_EQ(body.append(part), FetchErrorKind::kTooLarge);
  const auto bytes = body.take();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->bytes.data(), memory.data());
  EXPECT_EQ(std::vector<std::uint8_t>(bytes->bytes.begin(), bytes->bytes.end()),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}));
  EXPECT_EQ(asked, std::vector<std::size_t>{10});
  EXPECT_TRUE(budget.take(100)) << "the budget is whole again";
}

TEST(SourceBody, PiecesOfAnUnknownLengthAreJoinedInOrder) {
  const Allocate ordinary;
  Budget budget(std::size_t{64} << 20);
  constexpr std::size_t kMaxBytes = 20'000'000;
  Body body(ordinary, budget, kMaxBytes, anything);
  std::vector<std::uint8_t> all(kMaxBytes);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i * 31 + i / 251);
  std::size_t at = 0;
  for (std::size_t step = 1; at < all.size(); step = step * 3 + 1) {
    const auto part = std::span(all).subspan(at, std::min(step % 700'001, all.size() - at));
    ASSERT_FALSE(body.append(part));
    at += part.size();
  }
  const std::uint8_t more = 0;
  EXPECT_EQ(body.append({&more, 1}), FetchErrorKind::kTooLarge);
  const auto bytes = body.take();
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(std::equal(all.begin(), all.end(), bytes->bytes.begin(), bytes->bytes.end()));
  EXPECT_TRUE(budget.take(std::size_t{64} << 20)) << "the budget is whole again";
}

TEST(SourceBody, WhoeverPaysIsAskedBeforeMemoryIsTaken) {
  std::vector<std::size_t> taken;
  const Allocate allocate = [&](std::size_t bytes) -> Result<InputSlice> {
    taken.push_back(bytes);
    const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[bytes]);
    return InputSlice{{memory.get(), bytes}, memory};
  };
  std::size_t held = 0, arrived = 0, bound = 300'000;
  const std::function<bool(std::size_t, std::size_t)> may_hold = [&](std::size_t to_hold,
                                                                     std::size_t so_far) {
    held = to_hold;
    arrived = so_far;
    return to_hold <= bound;
  };
  Budget budget(std::size_t{64} << 20);
  const std::vector<std::uint8_t> part(100'000);
  {
    Body body(allocate, budget, 1'000'000, may_hold);
    EXPECT_EQ(body.expect(300'001), FetchErrorKind::kBusy);
    EXPECT_TRUE(taken.empty());
    ASSERT_FALSE(body.expect(300'000));
    ASSERT_FALSE(body.append(part));
    EXPECT_EQ(held, 300'000u);
    EXPECT_EQ(arrived, 100'000u);
    bound = 0;
    EXPECT_EQ(body.append(part), FetchErrorKind::kBusy) << "and as it comes";
  }
  bound = 300'000;
  Body unknown(allocate, budget, 1'000'000, may_hold);
  ASSERT_FALSE(unknown.append(part));
  ASSERT_FALSE(unknown.append(part));
  EXPECT_GE(held, 200'000u);
  EXPECT_EQ(unknown.append(part).value_or(FetchErrorKind::kIo), FetchErrorKind::kBusy);
  unknown.reset();
  EXPECT_TRUE(budget.take(std::size_t{64} << 20)) << "the budget is whole again";
}

TEST(SourceBody, FewerBytesThanExpectedAreTruncated) {
  const Allocate ordinary;
  Budget budget(100);
  Body body(ordinary, budget, 100, anything);
  ASSERT_FALSE(body.expect(10));
  const std::uint8_t byte = 7;
  ASSERT_FALSE(body.append({&byte, 1}));
  EXPECT_EQ(body.take().error(), FetchErrorKind::kTruncated);
  body.reset();
  EXPECT_EQ(body.expect(101), FetchErrorKind::kTooLarge);
  EXPECT_EQ(body.expect(std::uint64_t{1} << 63), FetchErrorKind::kTooLarge);
}

}  // namespace
}  // namespace framewire::service::source
