// What integration tests share: folders that vanish, small JPEGs, and the program itself.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::test {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

/// A new folder, deleted with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// A baseline JPEG written by libjpeg, whose samples depend on `seed`.
[[nodiscard]] Bytes make_jpeg(int width_px, int height_px, unsigned seed = 1);

/// Width and height by libjpeg's full decode; nothing where it fails or warns.
struct Size {
  int width_px = 0;
  int height_px = 0;
  friend bool operator==(const Size&, const Size&) = default;
};
[[nodiscard]] std::optional<Size> decode_size(std::span<const std::uint8_t> jpeg);

/// Writes a file, making its folder. Fails the test where that is impossible.
void write_file(const fs::path& path, std::span<const std::uint8_t> bytes);
void write_text(const fs::path& path, std::string_view text);
[[nodiscard]] Bytes read_file(const fs::path& path);
[[nodiscard]] std::string read_text(const fs::path& path);

/// Contents of every file below a folder, by relative name.
[[nodiscard]] std::map<std::string, Bytes> read_tree(const fs::path& folder);

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The rows of a manifest; fails the test at a line that is no JSON object.
[[nodiscard]] std::vector<nlohmann::json> read_rows(const fs::path& manifest);

/// The words that start a service with worker processes.
[[nodiscard]] std::vector<std::string> serve_with_workers(int count,
                                                          const std::vector<std::string>& more);

/// A program that has ended.
struct Ran {
  int exit_code = -1;  ///< −1: ended by a signal
  int signal = 0;      ///< 0: ended by itself
  std::string out;
  std::string err;
};

/// Runs the program built with the tests. Paths are passed as they are.
/// @param prepare  runs in the new process first
[[nodiscard]] Ran run_program(const std::vector<std::string>& arguments, const Bytes& input = {},
                              const std::function<void()>& prepare = {});

/// Starts it with its output thrown away; the caller waits for it.
/// @param prepare  runs in the new process first
/// @param errors   a file for its standard error; empty: thrown away, too
[[nodiscard]] pid_t start_program(const std::vector<std::string>& arguments,
                                  const std::function<void()>& prepare = {},
                                  const std::string& errors = {});
[[nodiscard]] Ran wait_for(pid_t process);

}  // namespace framewire::test
