// Sources: what a batch finds, in which order, and what it refuses.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <batch/names.hpp>
#include <framewire/batch/files.hpp>
#include <set>
#include <tests/integration/support.hpp>

namespace framewire::batch {
namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;
using test::write_text;

std::vector<Input> drain(Source& source) {
  std::vector<Input> all;
  for (;;) {
    auto input = source.next();
    EXPECT_TRUE(input);
    if (!input || !*input) return all;
    all.push_back(std::move(**input));
  }
}

std::vector<Input> drain_folder(const std::string& folder, std::vector<FileId> excluded = {}) {
  auto source = open_folder(folder, std::move(excluded));
  EXPECT_TRUE(source);
  return source ? drain(**source) : std::vector<Input>{};
}

std::vector<std::string> names(const std::vector<Input>& inputs) {
  std::vector<std::string> all;
  for (const Input& input : inputs) all.push_back(input.name);
  return all;
}

FileId id_of(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return {facts.st_dev, facts.st_ino};
}

TEST(FolderSource, WalksInByteOrderAndKeepsTheTree) {
  const TemporaryFolder folder;
  for (const char* name : {"b.jpg", "a/z.jpg", "a/b/c.JPEG", "B.jpg", "notes.txt"}) {
    write_text(folder / name, "x");
  }
  const auto found = drain_folder(folder.path().string() + "//");
  EXPECT_EQ(names(found),
            (std::vector<std::string>{"B.jpg", "a/b/c.JPEG", "a/z.jpg", "b.jpg", "notes.txt"}));
  EXPECT_TRUE(found[1].expected) << "an extension in capitals says JPEG too";
  EXPECT_FALSE(found[4].expected);
  for (const Input& input : found) EXPECT_TRUE(fs::exists(input.label)) << input.label;
}

// More entries than one part holds: nothing may be lost, repeated or out of order between parts.
TEST(FolderSource, ReadsLargeFoldersInParts) {
  const TemporaryFolder folder;
  constexpr std::size_t kFiles = 33'500;
  write_text(folder / "0.jpg", "x");
  for (std::size_t i = 1; i < kFiles; ++i) {
    const std::string name = folder / (std::to_string(i * 7919 % 1'000'003) + ".jpg");
    ASSERT_EQ(::link((folder / "0.jpg").c_str(), name.c_str()), 0) << name;
  }
  const auto found = names(drain_folder(folder.path()));
  EXPECT_EQ(found.size(), kFiles);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), kFiles);
}

TEST(FolderSource, ReportsLoopsAndFollowsOtherLinks) {
  const TemporaryFolder folder;
  write_text(folder / "real/photo.jpg", "x");
  fs::create_directory_symlink("..", folder / "real/up");
  fs::create_directory_symlink("real", folder / "alias");
  fs::create_symlink("real/photo.jpg", folder / "link.jpg");
  fs::create_symlink("nowhere", folder / "dangling.jpg");
  const auto found = drain_folder(folder.path());
  std::set<std::string> fine;
  std::set<std::string> refused;
  for (const Input& input : found) (input.error ? refused : fine).insert(input.name);
  EXPECT_EQ(fine, (std::set<std::string>{"alias/photo.jpg", "link.jpg", "real/photo.jpg"}));
  EXPECT_EQ(refused, (std::set<std::string>{"alias/up", "dangling.jpg", "real/up"}));
  for (const Input& input : found) {
    if (!input.error) continue;
    const bool dangling = input.name == "dangling.jpg";
    EXPECT_EQ(input.error->code(), dangling ? StatusCode::kIoError : StatusCode::kInvalidInput);
    EXPECT_EQ(input.expected, dangling) << "a loop is no failure, a link to nothing is";
  }
}

TEST(FolderSource, PassesOverExcludedPlacesAndTemporaryFiles) {
  const TemporaryFolder folder;
  write_text(folder / "a.jpg", "x");
  write_text(folder / "out/a.jpg", "x");
  write_text(folder / "manifest.jsonl", "{}\n");
  write_text(folder / ".framewire-1-2.tmp", "x");
  const auto found =
      drain_folder(folder.path(), {id_of(folder / "out"), id_of(folder / "manifest.jsonl")});
  EXPECT_EQ(names(found), (std::vector<std::string>{"a.jpg"}));
}

TEST(FolderSource, ReportsWhatIsNeitherFileNorFolder) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe.jpg").c_str(), 0600), 0);
  const auto found = drain_folder(folder.path());
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].error);
  EXPECT_EQ(found[0].error->code(), StatusCode::kInvalidInput);
}

TEST(FolderSource, ReportsUnreadableFoldersAndGoesOn) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every folder";
  const TemporaryFolder folder;
  write_text(folder / "closed/a.jpg", "x");
  write_text(folder / "open/a.jpg", "x");
  fs::permissions(folder / "closed", fs::perms::none);
  const auto found = drain_folder(folder.path());
  fs::permissions(folder / "closed", fs::perms::owner_all);
  ASSERT_EQ(found.size(), 2u);
  ASSERT_TRUE(found[0].error);
  EXPECT_EQ(found[0].error->code(), StatusCode::kIoError);
  EXPECT_EQ(found[1].name, "open/a.jpg");
}

TEST(FolderSource, MissingFolderIsAnError) {
  const auto source = open_folder("/nonexistent-framewire", {});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code(), StatusCode::kIoError);
}

std::vector<Input> drain_list(std::string_view text, char separator = '\n') {
  const TemporaryFolder folder;
  write_text(folder / "list", text);
  auto source = open_list(folder / "list", separator);
  EXPECT_TRUE(source);
  return source ? drain(**source) : std::vector<Input>{};
}

TEST(ListSource, KeepsNamesBelowTheOutput) {
  const auto found = drain_list("a.jpg\n\nsub//b.jpg\n/abs/c.jpg\ndeep/./in/d.jpg\nlast.jpg");
  EXPECT_EQ(names(found),
            (std::vector<std::string>{"a.jpg", "sub/b.jpg", "abs/c.jpg", "in/d.jpg", "last.jpg"}));
  EXPECT_EQ(found[2].label, "/abs/c.jpg");
  for (const Input& input : found) EXPECT_FALSE(input.error) << input.name;
}

TEST(ListSource, RefusesNamesThatLeadOutOrMeet) {
  const auto found = drain_list("../a.jpg\nx/../../b.jpg\nc.jpg\n./c.jpg\n/c.jpg\n..\n");
  ASSERT_EQ(found.size(), 6u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].error.has_value(), i != 2) << found[i].label;
  }
}

TEST(ListSource, TakesNulAndNewlinesInNames) {
  const std::string text("one\nline.jpg\0two.jpg\0", 21);
  EXPECT_EQ(names(drain_list(text, '\0')), (std::vector<std::string>{"one\nline.jpg", "two.jpg"}));
}

TEST(ListSource, RefusesEndlessEntriesAndGoesOn) {
  const auto found = drain_list(std::string(100'000, 'x') + "\nb.jpg\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].error);
  EXPECT_EQ(found[1].name, "b.jpg");
}

TEST(FilesSource, KeepsPathsBelowTheCommonFolder) {
  const auto named = [](const std::vector<std::string>& paths) {
    return names(drain(*open_files(paths)));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(named({"photos/a.jpg"}), (Names{"a.jpg"}));
  EXPECT_EQ(named({"photos/a.jpg", "photos/b.jpg"}), (Names{"a.jpg", "b.jpg"}));
  EXPECT_EQ(named({"p/1/a.jpg", "p/2/a.jpg"}), (Names{"1/a.jpg", "2/a.jpg"}));
  EXPECT_EQ(named({"p/a.jpg", "/tmp/a.jpg"}).size(), 2u);
  EXPECT_EQ(named({"../a.jpg", "a.jpg"})[0], "a.jpg");
}

TEST(FilesSource, RefusesAFileNamedTwice) {
  const std::vector<std::string> paths = {"a.jpg", "b.jpg", "./a.jpg"};
  const auto found = drain(*open_files(paths));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_FALSE(found[0].error);
  EXPECT_TRUE(found[2].error);
}

TEST(Shards, PartitionEveryBatch) {
  for (const std::uint32_t count : {1u, 2u, 3u, 7u}) {
    std::vector<int> sizes(count, 0);
    for (int i = 0; i < 2000; ++i) {
      const Input input{"", "folder/" + std::to_string(i) + ".jpg", true, std::nullopt};
      int owners = 0;
      for (std::uint32_t index = 0; index < count; ++index) {
        if (!in_shard({index, count}, input)) continue;
        ++owners;
        ++sizes[index];
      }
      ASSERT_EQ(owners, 1) << input.name << " of " << count;
    }
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LT(*most, *least * 5 / 4) << "uneven parts of " << count;
  }
}

}  // namespace
}  // namespace framewire::batch
