// Shards in a folder, and the program that makes others of them.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <tests/integration/support.hpp>
#include <tests/support/archive.hpp>
#include <vector>

namespace framewire::test {

using Words = std::vector<std::string>;

inline std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class CliShards : public ::testing::Test {
 protected:
  /// A shard of so many samples, with text beside each picture.
  void make_shard(const std::string& name, int samples, int width = 64) const {
    dataset::test::Archive archive;
    for (int i = 0; i < samples; ++i) {
      const std::string key = name + "-" + std::to_string(1000 + i);
      const Bytes jpeg = make_jpeg(width, width * 3 / 4, static_cast<unsigned>(i));
      archive.file(key + ".jpg", view(jpeg)).file(key + ".json", "{\"i\":" + key + "}");
    }
    write_file(folder_ / ("in/" + name + ".tar"), archive.end().bytes);
  }
  [[nodiscard]] Words batch(const std::string& in, const Words& more = {}) const {
    Words words = {"batch", folder_ / ("in/" + in), folder_ / "out", "--size", "32x", "--jobs", "2",
                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] Bytes out(const std::string& name) const {
    return read_file(folder_ / ("out/" + name));
  }
  /// The record at the end of a shard's manifest.
  [[nodiscard]] nlohmann::json record(const std::string& name) const {
    return read_rows(folder_ / ("out/" + name + ".jsonl")).back();
  }
  [[nodiscard]] static nlohmann::json shards(const Ran& ran) {
    return nlohmann::json::parse(ran.out)["shards"];
  }

  const TemporaryFolder folder_;
};

}  // namespace framewire::test
