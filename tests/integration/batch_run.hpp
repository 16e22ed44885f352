// A batch over numbered files whose pixels are nobody's concern.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <batch/runner.hpp>
#include <functional>
#include <memory>
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

/// An output folder whose commits may be taken from it.
class FaultySink final : public Sink {
 public:
  using Commit = std::function<WriteResult(const Output&, std::span<const std::uint8_t>)>;
  FaultySink(std::unique_ptr<Sink> folder, const Commit& commit)
      : folder_(std::move(folder)), commit_(commit) {}
  std::string label(const std::string& name) const override { return folder_->label(name); }
  Result<void> begin(const BeginSink& begin) override { return folder_->begin(begin); }
  Result<std::optional<std::uint64_t>> find(const std::string& name) const override {
    return folder_->find(name);
  }
  Result<void> admit(const Input& input, const OpenInput& open) const override {
    return folder_->admit(input, open);
  }
  WriteResult commit(const Output& output, std::span<const std::uint8_t> bytes) override {
    return commit_ ? commit_(output, bytes) : folder_->commit(output, bytes);
  }

 private:
  std::unique_ptr<Sink> folder_;
  const Commit& commit_;
};

/// A batch over a folder of numbered inputs, of which every hook may be replaced.
class BatchRun : public ::testing::Test {
 protected:
  BatchRun() {
    settings_.jobs = settings_.group = 1;
    hooks_.resize = fake_resize;
    with_.on_row = [this](const Row& row) { rows_.push_back(row); };
    with_.stop = &interrupt_;
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
    std::unique_ptr<Manifest> rows;
    if (with_manifest) {
      auto opened = open_manifest(manifest(), resume ? OpenManifest::kResume : OpenManifest::kNew);
      EXPECT_TRUE(opened);
      rows = std::move(*opened);
      with_.manifest = rows.get();
    }
    auto sink = open_sink();
    auto summary = batch::run(**source, *sink, hooks_, settings_, with_);
    with_.manifest = nullptr;
    EXPECT_TRUE(summary);
    return summary ? *summary : Summary{};
  }
  [[nodiscard]] std::unique_ptr<Sink> open_sink() const {
    const std::string in = folder_ / "in";
    auto folder =
        open_output_folder(output_folder_, {{}, in, [in] { return open_folder(in, {}); }}, output_);
    EXPECT_TRUE(folder);
    return std::make_unique<FaultySink>(std::move(*folder), commit_);
  }

  [[nodiscard]] std::set<std::string> rows_with(Outcome outcome) const {
    std::set<std::string> found;
    for (const Row& row : rows_) {
      if (row.outcome == outcome) found.insert(row.name);
    }
    return found;
  }

  const TemporaryFolder folder_;
  std::string output_folder_ = folder_ / "out";
  OutputFolderOptions output_;
  FaultySink::Commit commit_;  ///< empty: the folder's own
  Settings settings_;
  Hooks hooks_;
  RunOptions with_;
  std::vector<Row> rows_;
  std::atomic<bool> interrupt_{false};
};

}  // namespace framewire::batch
