// A folder of inputs for framewire batch, by itself and with a server of either kind.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <tests/integration/support.hpp>
#include <vector>

namespace framewire::test {

using Words = std::vector<std::string>;

/// 40 pictures in two folders below "in"; one is cut short, of one only two bytes are left.
class BatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 40; ++i) {
      const std::string name = (i % 4 == 0 ? "deep/" : "") + std::to_string(100 + i) + ".jpg";
      Bytes jpeg = make_jpeg(60 + static_cast<int>(i), 50, i);
      if (i == 7) jpeg.resize(jpeg.size() - 20);
      if (i == 9) jpeg.resize(2);
      write_file(folder_ / ("in/" + name), jpeg);
    }
  }
  /// The command that makes a folder `out` of "in", and a manifest beside it.
  [[nodiscard]] Words batch(const std::string& out, const Words& more = {}) const {
    Words words = {"batch",  folder_ / "in", folder_ / out,
                   "--size", "30x",          "--quiet",
                   "--json", "--manifest",   folder_ / (out + ".jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Name, outcome, sizes, codec and warnings of each row, in the order of names.
  [[nodiscard]] std::map<std::string, std::string> rows(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (nlohmann::json& row : read_rows(folder_ / (out + ".jsonl"))) {
      if (!row.contains("input")) continue;
      row.erase("ms");
      row.erase("output");
      const std::string name = row["input"];
      all[name] = row.dump();
    }
    return all;
  }

  TemporaryFolder folder_;
};

}  // namespace framewire::test
