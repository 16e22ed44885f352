// What a batch over pictures says about tar shards that it skipped.
#include <gtest/gtest.h>
#include <commands/batch/shard_hints.hpp>
#include <report/console.hpp>
#include <string>
#include <vector>

namespace framewire::app {
namespace {

std::string text_of(const std::vector<std::string>& inputs) {
  SkippedShards skipped;
  for (const std::string& input : inputs) {
    batch::Row row;
    row.input = input;
    row.outcome = batch::Outcome::kSkipped;
    skipped.add(row);
  }
  return skipped.text();
}

// A shell expands what stands outside quotes, and a batch finds objects by itself.
TEST(SkippedShards, TheCommandIsOneToBePasted) {
  EXPECT_EQ(text_of({"in/notes.txt"}), "");
  EXPECT_EQ(text_of({"in/it's.tar", "in/notes.txt"}),
            R"(1 tar shard was skipped; name it: framewire batch 'in/it'\''s.tar' OUT_DIR)");
  EXPECT_EQ(text_of({"my in/a.tar", "my in/b.tar"}),
            "2 tar shards were skipped; name them: framewire batch 'my in/'*.tar OUT_DIR");
  EXPECT_EQ(text_of({"s3://photos/in/a.tar", "s3://photos/in/b.tar"}),
            "2 tar shards were skipped; name them: framewire batch 's3://photos/in/*.tar' OUT_DIR");
  EXPECT_EQ(text_of({"in/2023/a.tar", "in/2024/a.tar"}),
            "2 tar shards were skipped; name them: framewire batch @LIST OUT_DIR");
}

// What is said is printable, so that a line break as it is would not arrive, nor move the cursor.
TEST(SkippedShards, TheCommandCanBePastedWhateverTheNamesHold) {
  const std::string in_bash =
      text_of({"in/it's\na\\b\xFF"
               "1\u202E.tar"});
  EXPECT_EQ(in_bash, R"(1 tar shard was skipped; name it: framewire batch )"
                     R"($'in/it\'s\x0aa\\b\xff1\xe2\x80\xae.tar' OUT_DIR)");
  EXPECT_EQ(printable(in_bash), in_bash);
  EXPECT_EQ(text_of({"my\nin/a.tar", "my\nin/b.tar"}),
            R"(2 tar shards were skipped; name them: framewire batch $'my\x0ain/'*.tar OUT_DIR)");
}

TEST(SkippedShards, OthersAreNotCounted) {
  SkippedShards skipped;
  batch::Row row;
  row.input = "a.tar";
  row.outcome = batch::Outcome::kFailed;
  skipped.add(row);
  EXPECT_EQ(skipped.text(), "");
}

}  // namespace
}  // namespace framewire::app
