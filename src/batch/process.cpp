#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <algorithm>
#include <base/clock.hpp>
#include <batch/input_file.hpp>
#include <batch/process.hpp>
#include <exception>
#include <new>
#include <utility>

namespace framewire::batch {
namespace {

constexpr std::size_t kKeptBytes = 4u << 20;
/// Input that is enough to hand over at once: large images come in smaller groups.
constexpr std::size_t kGroupBytes = 8u << 20;
/// And room for one more. What is larger still goes to memory of its own.
constexpr std::size_t kGroupRoomBytes = kGroupBytes + (4u << 20);

struct FileFacts {
  std::uint64_t bytes = 0;
  FileId id;
};

std::optional<FileFacts> facts_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return FileFacts{static_cast<std::uint64_t>(facts.st_size), {facts.st_dev, facts.st_ino}};
}

/// One input, from opening it to its row.
class OneInput {
 public:
  /// @param buffer  where its bytes go that do not fit into the room they are given
  OneInput(Input input, const ProcessContext& context, std::vector<std::uint8_t> buffer)
      : input_(std::move(input)), context_(context), buffer_(std::move(buffer)) {
    row_.input = input_.path;
    row_.name = input_.name;
    row_.output = context.settings->output_folder + "/" + input_.name;
    row_.options_hash = context.options_hash;
  }

  /// Reads the input. @param room  taken if it suffices
  /// @return whether the input is to be resized
  bool read(std::span<std::uint8_t> room) {
    guarded([&] { open_and_read(room); });
    return readable_;
  }
  /// Those of the file, once read.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::vector<std::uint8_t> take_buffer() { return std::move(buffer_); }
  /// Takes what was made of it, and writes it.
  void write(const Result<Resized>& resized) {
    guarded([&] { write_output(resized); });
  }
  Processed finish() {
    if (unchanged_) return {};
    row_.ms = base::elapsed_us(start_) / 1000;
    return {std::move(row_), environment_};
  }

 private:
  template <typename Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      fail_with(Status(StatusCode::kBusy, "memory ran out").about(input_.path));
    } catch (const std::exception& error) {
      fail_with(Status(StatusCode::kInternal, error.what()).about(input_.path));
    }
  }

  void open_and_read(std::span<std::uint8_t> room) {
    if (input_.error) return fail_with(*input_.error);
    auto file = InputFile::open(input_.path);
    if (!file) return fail_with(file.error());
    row_.bytes_in = file->bytes();
    row_.mtime_ns = file->mtime_ns();

    const auto existing = facts_of(row_.output);
    if (existing && done_before(*existing, false)) return;
    const auto jpeg = file->starts_like_jpeg();
    if (!jpeg) return fail_with(jpeg.error());
    if (!*jpeg) return refuse_foreign();
    const bool in_place = existing && existing->id == file->id();
    if (in_place && !context_.settings->allow_in_place) {
      return fail_with(Status(StatusCode::kInvalidInput, "the output would replace this very file")
                           .about(input_.path));
    }
    // By folders alone no output is met: the output folder is not entered.
    if (!in_place && !input_.direct && context_.hooks->admit) {
      if (auto admitted = context_.hooks->admit(*file); !admitted) {
        return fail_with(admitted.error());
      }
    }
    permissions_ = file->permissions();

    if (auto bytes = read_bytes(*file, room); !bytes) return fail_with(bytes.error());
    row_.bytes_in = bytes_.size();
    if (context_.hashed) row_.hash = XXH3_64bits(bytes_.data(), bytes_.size());
    readable_ = !existing || !done_before(*existing, true);
  }

  Result<void> read_bytes(const InputFile& file, std::span<std::uint8_t> room) {
    const std::uint64_t limit = context_.settings->options.limits.max_input_bytes;
    auto there = file.read_within(room, limit);
    if (!there) return fail(there.error());
    if (*there) {
      bytes_ = **there;
      return {};
    }
    auto bytes = file.read(limit, std::move(buffer_));
    if (!bytes) return fail(bytes.error());
    bytes_ = buffer_ = std::move(*bytes);
    return {};
  }

  void write_output(const Result<Resized>& resized) {
    if (!resized) return fail_with(about_file(resized.error(), input_.path));
    const Report& report = resized->report;
    row_.in_width_px = report.input.width_px;
    row_.in_height_px = report.input.height_px;
    row_.out_width_px = report.output.width_px;
    row_.out_height_px = report.output.height_px;
    row_.codec = report.codec;
    row_.original_kept = report.original_kept;
    row_.warnings = report.warnings;
    if (const auto written = context_.hooks->write(
            Output{row_.output, row_.name, row_.input, permissions_,
                   context_.done != nullptr && context_.done->made(row_.name)},
            resized->bytes);
        !written) {
      environment_ = written.error().environment;
      return fail_with(written.error().status);
    }
    row_.bytes_out = resized->bytes.size();
    row_.outcome = Outcome::kOk;
    row_.error.reset();
  }

  // By time before the input is read, by content after.
  bool done_before(const FileFacts& output, bool content) {
    if (context_.done == nullptr) return false;
    const DoneRow wanted{row_.name,    true,      row_.bytes_in,        row_.mtime_ns,
                         output.bytes, row_.hash, context_.options_hash};
    unchanged_ = content ? context_.done->done_by_content(wanted) : context_.done->done(wanted);
    return unchanged_;
  }

  void refuse_foreign() {
    fail_with(Status(StatusCode::kInvalidInput,
                     row_.bytes_in == 0 ? "is empty; accepted: JPEG, which begins with FF D8"
                                        : "does not begin with FF D8, as JPEG does")
                  .about(input_.path)
                  .at(0));
  }

  void fail_with(Status status) {
    const bool foreign = status.code() == StatusCode::kInvalidInput && !input_.expected;
    row_.outcome = foreign && !readable_ ? Outcome::kSkipped : Outcome::kFailed;
    row_.error = std::move(status);
  }

  Input input_;
  const ProcessContext& context_;
  const base::Clock::time_point start_ = base::Clock::now();
  std::vector<std::uint8_t> buffer_;
  std::span<const std::uint8_t> bytes_;
  Row row_;
  Permissions permissions_;  ///< of the input
  bool readable_ = false;
  bool unchanged_ = false;
  bool environment_ = false;
};

/// Runs `make`. @return what it threw
template <typename Make>
std::optional<Status> thrown_by(Make make) {
  try {
    make();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kBusy, "memory ran out");
  } catch (const std::exception& error) {
    return Status(StatusCode::kInternal, error.what());
  }
  return std::nullopt;
}

}  // namespace

/// Inputs that are handed over together.
class Pipeline::Group {
 public:
  explicit Group(Pipeline& pipeline) : pipeline_(pipeline), context_(pipeline.context_) {}
  ~Group() {
    if (results_) thrown_by(results_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Reads the first inputs, as many as make up kGroupBytes. @return how many those are
  std::size_t read(std::span<Input> inputs) {
    inputs_.reserve(inputs.size());
    std::span<std::uint8_t> room = take_room();
    std::size_t bytes = 0;
    while (inputs_.size() < inputs.size() && bytes < kGroupBytes) {
      inputs_.emplace_back(std::move(inputs[inputs_.size()]), context_, pipeline_.take_buffer());
      if (!inputs_.back().read(room)) continue;
      const std::span<const std::uint8_t> file = inputs_.back().bytes();
      readable_.push_back(&inputs_.back());
      bytes += file.size();
      if (file.data() == room.data()) room = room.subspan(file.size());
    }
    return inputs_.size();
  }

  /// Where there is no way to go on meanwhile, the inputs are resized when asked for.
  void hand_over() {
    if (!context_.hooks->begin_all || readable_.empty()) return;
    std::vector<std::span<const std::uint8_t>> files;
    files.reserve(readable_.size());
    for (const OneInput* input : readable_) files.push_back(input->bytes());
    results_ = context_.hooks->begin_all(files, context_.settings->options);
  }

  void finish() {
    if (results_) {
      write_results();
    } else {
      for (OneInput* input : readable_) resize(*input);
    }
    for (OneInput& input : inputs_) {
      pipeline_.done_(input.finish());
      pipeline_.keep_buffer(input.take_buffer());
    }
  }

 private:
  // Without such memory each file has its own.
  std::span<std::uint8_t> take_room() {
    if (!context_.hooks->input_memory) return {};
    auto memory = context_.hooks->input_memory(kGroupRoomBytes);
    if (!memory) return {};
    memory_ = std::move(*memory);
    return memory_.bytes();
  }

  void write_results() {
    std::vector<Result<Resized>> results;
    const auto pending = std::exchange(results_, nullptr);
    if (auto thrown = thrown_by([&] { results = pending(); }))
      results.assign(readable_.size(), fail(std::move(*thrown)));
    for (std::size_t i = 0; i < readable_.size(); ++i) readable_[i]->write(results[i]);
  }

  void resize(OneInput& input) {
    std::optional<Result<Resized>> resized;
    const auto thrown = thrown_by(
        [&] { resized = context_.hooks->resize(input.bytes(), context_.settings->options); });
    input.write(thrown ? fail(*thrown) : std::move(*resized));
  }

  Pipeline& pipeline_;
  const ProcessContext& context_;
  InputMemory memory_;
  std::vector<OneInput> inputs_;
  std::vector<OneInput*> readable_;
  PendingResults results_;
};

Pipeline::Pipeline(const ProcessContext& context, Done done)
    : context_(context), done_(std::move(done)) {}

Pipeline::~Pipeline() = default;

std::vector<std::uint8_t> Pipeline::take_buffer() {
  if (buffers_.empty()) return {};
  auto buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

// A batch's memory is that of its images in work, not of the largest that it has met.
void Pipeline::keep_buffer(std::vector<std::uint8_t> buffer) {
  if (buffer.capacity() <= kKeptBytes) buffers_.push_back(std::move(buffer));
}

void Pipeline::add(std::vector<Input> inputs) {
  for (std::span<Input> rest(inputs); !rest.empty();) {
    auto group = std::make_unique<Group>(*this);
    rest = rest.subspan(group->read(rest));
    group->hand_over();
    finish();
    group_ = std::move(group);
    if (!context_.hooks->begin_all) finish();
  }
}

void Pipeline::finish() {
  if (group_ == nullptr) return;
  group_->finish();
  group_.reset();
}

}  // namespace framewire::batch
