// A batch in a folder of its own, for those who attack it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <string>
#include <string_view>
#include <tests/integration/support.hpp>
#include <vector>

namespace framewire::test {

using Words = std::vector<std::string>;

class BatchAttack : public ::testing::Test {
 protected:
  void put(const std::string& name) { write_file(folder_ / name, make_jpeg(64, 48, ++seed_)); }
  void put_text(const std::string& name, std::string_view text) {
    write_text(folder_ / name, text);
  }
  [[nodiscard]] Bytes bytes(const std::string& name) const { return read_file(folder_ / name); }

  /// Runs a batch in the folder.
  Ran batch(Words words, const std::string& list = {}) {
    words.insert(words.begin(), "batch");
    words.insert(words.end(), {"--size", "16", "--jobs", "2"});
    return run_program(words, Bytes(list.begin(), list.end()), [&] {
      ::umask(022);
      if (::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    });
  }
  /// The files are inputs of the batch, and are whole after it; whatever else there is to say.
  void expect_kept(const Words& names, const Words& arguments, const std::string& list = {}) {
    std::vector<Bytes> before;
    for (const std::string& name : names) before.push_back(bytes(name));
    const Ran ran = batch(arguments, list);
    EXPECT_EQ(ran.exit_code, 1) << ran.err;
    EXPECT_TRUE(ran.err.find("invalid_input: ") != std::string::npos ||
                ran.err.find("cannot replace a link") != std::string::npos)
        << ran.err;
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(bytes(names[i]), before[i]) << names[i] << " was destroyed\n" << ran.err;
    }
  }

  const TemporaryFolder folder_;
  unsigned seed_ = 0;
};

}  // namespace framewire::test
