// One input, from opening it to its row.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <framewire/batch.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace framewire::batch {

/// Context of one batch, read by all its threads; what it points to outlives them.
struct ProcessContext {
  const Source* source = nullptr;
  Sink* sink = nullptr;
  const Settings* settings = nullptr;
  const DoneIndex* done = nullptr;  ///< may be null
  bool hashed = false;              ///< rows need their inputs' hash
  std::string options_hash;
};

struct Processed {
  std::optional<Row> row;    ///< nothing where an earlier run did this input
  bool environment = false;  ///< the row's error would meet every other input
};

/// Reads an input, and commits what was made of it. What meets it, exceptions and memory that runs
/// out included, is its row. One thread.
class OneInput {
 public:
  /// @param buffer  where its bytes go that do not fit into the room they are given
  OneInput(Input input, const ProcessContext& context, std::vector<std::uint8_t> buffer);

  /// Reads the input. @param room  taken if it suffices
  /// @return whether the input is to be resized
  bool read(std::span<std::uint8_t> room);
  /// The input's bytes, once read.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::vector<std::uint8_t> take_buffer() { return std::move(buffer_); }
  /// Takes what was made of it, and commits it.
  void write(const Result<Resized>& resized);
  Processed take_result();

 private:
  template <typename Body>
  void guarded(Body body);
  void open_and_read(std::span<std::uint8_t> room);
  [[nodiscard]] bool read_jpeg(OpenInput& open, std::span<std::uint8_t> room);
  [[nodiscard]] Result<std::optional<std::uint64_t>> find_earlier() const;
  [[nodiscard]] bool done_before(std::uint64_t bytes_out, bool content);
  void write_output(const Result<Resized>& resized);
  void take_report(const Report& report);
  [[nodiscard]] Status foreign(bool empty) const;
  void fail_with(Status status);

  Input input_;
  const ProcessContext& context_;
  const base::Clock::time_point start_ = base::Clock::now();
  std::vector<std::uint8_t> buffer_;
  std::span<const std::uint8_t> bytes_;
  Row row_;
  std::optional<Permissions> permissions_;  ///< of the input
  bool readable_ = false;
  bool unchanged_ = false;
  bool environment_ = false;
};

}  // namespace framewire::batch
