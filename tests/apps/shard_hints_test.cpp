// What a batch over pictures says about tar shards that it skipped.
#include <gtest/gtest.h>
#include <commands/batch/shard_hints.hpp>
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
