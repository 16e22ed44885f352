// demo_report MANIFEST FOLDER: prints a table of a batch's files in and out, and writes
// contact-sheet.jpg and index.html into FOLDER.
#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <framewire/resizer.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/tools/picture.hpp>
#include <vector>

namespace {

namespace fs = std::filesystem;
using framewire::tools::Picture;
using nlohmann::json;

/// One manifest row, as far as people look at it.
struct Row {
  fs::path input;
  fs::path output;
  std::string in_size;
  std::string out_size;
  std::uint64_t in_bytes = 0;
  std::uint64_t out_bytes = 0;
  double ms = 0;
  std::string status;
};

std::string size_of(const json& row, const char* key) {
  if (!row.contains(key) || !row[key].is_object()) return "–";
  return fmt::format("{}×{}", row[key].value("w", 0), row[key].value("h", 0));
}

/// Empty where the row has null: a failed input has no output.
std::string text_of(const json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
}

std::vector<Row> read_manifest(const fs::path& path) {
  std::ifstream in(path);
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("input")) continue;
    rows.push_back({text_of(row, "input"), text_of(row, "output"), size_of(row, "in"),
                    size_of(row, "out"), row.value("bytes_in", std::uint64_t{0}),
                    row.value("bytes_out", std::uint64_t{0}), row.value("ms", 0.0),
                    text_of(row, "status")});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.input < b.input; });
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("{:<32} {:>11} {:>11} {:>12} {:>12} {:>8}  {}\n", "file", "in, px", "out, px",
             "in, bytes", "out, bytes", "ms", "status");
  std::uint64_t in_bytes = 0;
  std::uint64_t out_bytes = 0;
  double ms = 0;
  for (const Row& row : rows) {
    fmt::print("{:<32} {:>11} {:>11} {:>12} {:>12} {:>8.1f}  {}\n", row.input.filename().string(),
               row.in_size, row.out_size, row.in_bytes, row.out_bytes, row.ms, row.status);
    in_bytes += row.in_bytes;
    out_bytes += row.out_bytes;
    ms += row.ms;
  }
  fmt::print("{:<32} {:>11} {:>11} {:>12} {:>12} {:>8.1f}\n", fmt::format("{} files", rows.size()),
             "", "", in_bytes, out_bytes, ms);
}

/// Every output, fitted by the library itself into equal tiles on one page.
bool write_contact_sheet(const fs::path& path, const std::vector<Row>& rows) {
  constexpr int kTileWidth = 320;
  constexpr int kTileHeight = 240;
  constexpr int kGap = 12;
  constexpr int kColumns = 4;
  constexpr framewire::tools::Rgb kPage{32, 33, 36};

  framewire::ResizeOptions options;
  options.width_px = kTileWidth;
  options.height_px = kTileHeight;
  options.has_background = true;
  options.background = {kPage.r, kPage.g, kPage.b};
  options.quality = 95;

  const int lines = (static_cast<int>(rows.size()) + kColumns - 1) / kColumns;
  Picture sheet(kColumns * (kTileWidth + kGap) + kGap, lines * (kTileHeight + kGap) + kGap, kPage);
  const framewire::Resizer resizer;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ifstream in(rows[i].output, std::ios::binary);
    const std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
    const auto tile_bytes = resizer.resize(bytes, options);
    if (!tile_bytes) {
      fmt::print(stderr, "{}: {}\n", rows[i].output.string(), tile_bytes.error().to_string());
      return false;
    }
    const auto tile = framewire::tools::decode_jpeg(tile_bytes->bytes);
    if (!tile || tile->width_px != kTileWidth || tile->height_px != kTileHeight) {
      fmt::print(stderr, "{}: its tile is not {}×{}\n", rows[i].output.string(), kTileWidth,
                 kTileHeight);
      return false;
    }
    const int left = kGap + static_cast<int>(i) % kColumns * (kTileWidth + kGap);
    const int top = kGap + static_cast<int>(i) / kColumns * (kTileHeight + kGap);
    for (int y = 0; y < kTileHeight; ++y) {
      std::copy_n(&tile->at(0, y), kTileWidth, &sheet.at(left, top + y));
    }
  }
  return framewire::tools::write_jpeg(path, sheet, {.quality = 92, .chroma_h = 1, .chroma_v = 1});
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

bool write_page(const fs::path& path, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "<!doctype html><meta charset=utf-8><title>Framewire demo</title>\n"
         "<style>body{background:#202124;color:#ddd;font:15px sans-serif;margin:2em}"
         "figure{display:inline-block;margin:0 1em 1.5em 0}img{max-width:320px;max-height:240px}"
         "figcaption{font-size:13px;color:#aaa}</style>\n<h1>Framewire demo</h1>\n";
  for (const Row& row : rows) {
    const std::string target = escaped(fs::proximate(row.output, path.parent_path()).string());
    out << fmt::format(
        "<figure><a href=\"{0}\"><img src=\"{0}\"></a><figcaption>{1}<br>{2}, {3} bytes → {4}, {5} "
        "bytes in {6:.1f} ms</figcaption></figure>\n",
        target, escaped(row.input.filename().string()), row.in_size, row.in_bytes, row.out_size,
        row.out_bytes, row.ms);
  }
  return static_cast<bool>(out.flush());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: demo_report MANIFEST FOLDER\n");
    return 2;
  }
  std::vector<Row> rows = read_manifest(arguments[1]);
  if (rows.empty()) {
    fmt::print(stderr, "{}: no rows\n", arguments[1]);
    return 1;
  }
  print_table(rows);
  std::erase_if(rows, [](const Row& row) { return row.status != "ok"; });
  const fs::path folder = arguments[2];
  const bool written = write_contact_sheet(folder / "contact-sheet.jpg", rows) &&
                       write_page(folder / "index.html", rows);
  return written ? 0 : 3;
}
