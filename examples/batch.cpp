// batch SHARD.tar OUT_DIR: the JPEGs of a tar, at most 480 pixels wide and high, into a folder.
//
// A batch needs no files of its own: this source hands out the members of a tar, which workers read
// from where they lie in it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <framewire/batch.hpp>
#include <fstream>
#include <iostream>
#include <string>

namespace fb = framewire::batch;
using framewire::Result;
using framewire::StatusCode;

/// A member of a tar, read as far as it goes and no further.
class Member : public fb::OpenInput {
 public:
  Member(const std::string& shard, std::uint64_t offset, const fb::InputFacts& facts)
      : file_(shard, std::ios::binary), facts_(facts), left_(*facts.bytes) {
    file_.seekg(static_cast<std::streamoff>(offset));
  }
  const fb::InputFacts& facts() const noexcept override { return facts_; }
  Result<std::size_t> read(std::span<std::uint8_t> into) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
    file_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(wanted));
    if (!file_) return framewire::fail(StatusCode::kIoError, "the tar ends within this member");
    left_ -= wanted;
    return wanted;
  }

 private:
  std::ifstream file_;
  const fb::InputFacts facts_;
  std::uint64_t left_;
};

/// The members of a tar (POSIX ustar: blocks of 512 bytes, a header before each member).
class TarSource : public fb::Source {
 public:
  explicit TarSource(std::string shard)
      : shard_(std::move(shard)), tar_(shard_, std::ios::binary) {}

  Result<std::optional<fb::Input>> next() override {
    std::array<char, 512> header{};
    while (tar_.seekg(static_cast<std::streamoff>(at_)).read(header.data(), header.size())) {
      if (header[0] == '\0') return std::nullopt;  // the end, as tars mark it
      fb::InputFacts facts;
      facts.bytes = octal(&header[124], 12);
      facts.mtime_ns = static_cast<std::int64_t>(octal(&header[136], 12)) * 1'000'000'000;
      fb::Input member;
      member.name = std::string(&header[0], ::strnlen(&header[0], 100));
      member.label = shard_ + ": " + member.name;
      member.expected = member.name.ends_with(".jpg");
      member.tag = at_ + header.size();
      member.data = std::make_shared<fb::InputFacts>(facts);
      at_ = member.tag + (*facts.bytes + 511) / 512 * 512;
      if (header[156] == '0') return member;  // a file, no folder
    }
    return framewire::fail(StatusCode::kIoError, shard_ + " is no whole tar");
  }
  Result<std::unique_ptr<fb::OpenInput>> open(const fb::Input& input) const override {
    const auto& facts = *static_cast<const fb::InputFacts*>(input.data.get());
    return std::make_unique<Member>(shard_, input.tag, facts);
  }

 private:
  static std::uint64_t octal(const char* digits, std::size_t count) {
    std::uint64_t value = 0;
    std::from_chars(digits, digits + count, value, 8);
    return value;
  }

  const std::string shard_;
  std::ifstream tar_;
  std::uint64_t at_ = 0;
};

Result<fb::Summary> shrink(const std::string& shard, const std::string& folder) {
  framewire::EngineOptions options;
  options.callers_thread = true;  // the batch has threads of its own
  auto engine = framewire::Engine::make(options);
  if (!engine) return framewire::fail(engine.error());
  fb::KnownInputs inputs;  // files in a tar: only the tar itself could be replaced by an output
  inputs.files = {shard};
  inputs.elsewhere = true;
  const auto sink = fb::open_output_folder(folder, inputs);
  if (!sink) return framewire::fail(sink.error());
  TarSource source(shard);
  fb::Settings settings;
  settings.options.width_px = settings.options.height_px = 480;
  fb::RunOptions with;
  with.on_row = [](const fb::Row& row) {
    if (row.error) std::cerr << row.error->to_string() << '\n';
  };
  return fb::run(source, **sink, *engine, settings, with);
}

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: batch SHARD.tar OUT_DIR\n", 2;
  const auto summary = shrink(argv[1], argv[2]);
  if (!summary) return std::cerr << summary.error().to_string() << '\n', 1;
  if (summary->stopped_by) std::cerr << summary->stopped_by->to_string() << '\n';
  std::cout << summary->ok << " resized, " << summary->failed << " failed, " << summary->skipped
            << " skipped\n";
  return summary->failed > 0 || summary->stopped_by ? 1 : 0;
}
