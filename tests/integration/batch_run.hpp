// A batch over numbered files whose pixels are nobody's concern.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <batch/runner.hpp>
#include <optional>
#include <set>
#include <string>
#include <tests/integration/support.hpp>
#include <vector>

namespace framewire::batch {

using test::Bytes;
using test::TemporaryFolder;

inline constexpr std::uint8_t kSoi[] = {0xFF, 0xD8};

// Any function of the input will do: the runner knows nothing of pixels.
inline Result<Resized> fake_resize(std::span<const std::uint8_t> jpeg, const ResizeOptions&) {
  Resized resized;
  resized.bytes.assign(jpeg.rbegin(), jpeg.rend());
  resized.report.codec = CodecKind::kTurbo;
  resized.report.input.width_px = 8;
  resized.report.output.width_px = 4;
  return resized;
}

/// A batch over a folder of numbered inputs, of which every hook may be replaced.
class BatchRun : public ::testing::Test {
 protected:
  BatchRun() {
    settings_.output_folder = folder_ / "out";
    hooks_.resize = fake_resize;
    hooks_.write = [](const Output& output, std::span<const std::uint8_t> bytes) {
      return write_atomically(output.path, bytes, Durability::kNone);
    };
    hooks_.on_row = [this](const Row& row) { rows_.push_back(row); };
  }

  void make_inputs(int count) {
    for (int i = 0; i < count; ++i) {
      Bytes bytes(kSoi, kSoi + 2);
      bytes.resize(static_cast<std::size_t>(10 + i), static_cast<std::uint8_t>(i));
      test::write_file(input(i), bytes);
    }
  }

  [[nodiscard]] std::string name(int i) const {
    return (i % 3 == 0 ? "sub/" : "") + std::to_string(1000 + i) + ".jpg";
  }
  [[nodiscard]] std::string input(int i) const { return folder_ / ("in/" + name(i)); }
  [[nodiscard]] std::string manifest() const { return folder_ / "m.jsonl"; }

  Summary run(bool with_manifest = false, bool resume = false) {
    rows_.clear();
    auto source = open_folder(folder_ / "in", {});
    EXPECT_TRUE(source);
    Records records;
    std::optional<ManifestWriter> writer;
    std::optional<DoneIndex> done;
    if (with_manifest) {
      auto opened =
          ManifestWriter::open(manifest(), resume ? OpenManifest::kResume : OpenManifest::kNew);
      EXPECT_TRUE(opened);
      writer.emplace(std::move(*opened));
      records.manifest = &*writer;
    }
    if (resume) {
      auto read = DoneIndex::read(manifest());
      EXPECT_TRUE(read);
      done = std::move(*read);
      records.done = &*done;
    }
    auto summary = batch::run(**source, settings_, hooks_, records, interrupt_);
    EXPECT_TRUE(summary);
    return summary ? *summary : Summary{};
  }

  [[nodiscard]] std::set<std::string> rows_with(Outcome outcome) const {
    std::set<std::string> found;
    for (const Row& row : rows_) {
      if (row.outcome == outcome) found.insert(row.name);
    }
    return found;
  }

  const TemporaryFolder folder_;
  Settings settings_;
  Hooks hooks_;
  std::vector<Row> rows_;
  std::atomic<bool> interrupt_{false};
};

}  // namespace framewire::batch
