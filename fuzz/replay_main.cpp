// Runs a fuzz target over stored inputs, for compilers and test runs without libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

/// Files named by the arguments, and those inside named folders, sorted so that runs are alike.
std::vector<fs::path> collect(int count, char** arguments) {
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) {
    const fs::path path = arguments[i];
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::vector<std::uint8_t>> read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<fs::path> files = collect(count, arguments);
  if (files.empty()) {
    // A renamed seed folder must not pass for a clean replay.
    std::fprintf(stderr, "no seeds found; give files or folders that hold at least one\n");
    return 1;
  }
  for (const fs::path& file : files) {
    const auto bytes = read(file);
    if (!bytes) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      return 1;
    }
    // Named before it runs, so that the last line tells which seed crashed.
    std::printf("%s (%zu bytes)\n", file.c_str(), bytes->size());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(bytes->data(), bytes->size());
  }
  std::printf("%zu seeds replayed\n", files.size());
  return 0;
}
