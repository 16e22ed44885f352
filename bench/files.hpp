// Reading inputs for benches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace framewire::bench {

struct InputFile {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

/// Files as given, folders as the files directly in them, in name order.
inline std::vector<InputFile> read_inputs(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<InputFile> inputs;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    inputs.push_back({file.filename().string(),
                      std::vector<std::uint8_t>(std::istreambuf_iterator<char>(in), {})});
  }
  return inputs;
}

}  // namespace framewire::bench
