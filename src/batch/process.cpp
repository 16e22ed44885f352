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
class Worker {
 public:
  Worker(const Input& input, const ProcessContext& context, std::vector<std::uint8_t>& buffer)
      : input_(input), context_(context), buffer_(buffer) {
    row_.input = input.path;
    row_.name = input.name;
    row_.output = context.settings->output_folder + "/" + input.name;
    row_.options_hash = context.options_hash;
  }

  /// Reads the input. @return whether it is to be resized
  bool read() {
    guarded([this] { open_and_read(); });
    return readable_;
  }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  /// Takes what was made of it, and writes it.
  void write(const Result<Resized>& resized) {
    guarded([&] { write_output(resized); });
  }
  Processed finish() {
    // A batch's memory is that of its images in work, not of the largest that it has met.
    if (bytes_.capacity() <= kKeptBytes) buffer_ = std::move(bytes_);
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

  void open_and_read() {
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
    if (existing && existing->id == file->id() && !context_.settings->allow_in_place) {
      return fail_with(Status(StatusCode::kInvalidInput, "the output would replace this very file")
                           .about(input_.path));
    }

    auto bytes = file->read(context_.settings->options.limits.max_input_bytes, std::move(buffer_));
    if (!bytes) return fail_with(bytes.error());
    bytes_ = std::move(*bytes);
    row_.bytes_in = bytes_.size();
    row_.hash = XXH3_64bits(bytes_.data(), bytes_.size());
    readable_ = !existing || !done_before(*existing, true);
  }

  void write_output(const Result<Resized>& resized) {
    if (!resized) return fail_with(about_file(resized.error(), input_.path));
    const Report& report = resized->report;
    row_.in_width_px = report.input.width_px;
    row_.in_height_px = report.input.height_px;
    row_.out_width_px = report.output.width_px;
    row_.out_height_px = report.output.height_px;
    row_.codec = report.codec;
    row_.warnings = report.warnings;
    if (const auto written = context_.hooks->write(row_.output, resized->bytes); !written) {
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
    row_.outcome = foreign && !row_.hash ? Outcome::kSkipped : Outcome::kFailed;
    row_.error = std::move(status);
  }

  const Input& input_;
  const ProcessContext& context_;
  std::vector<std::uint8_t>& buffer_;
  const base::Clock::time_point start_ = base::Clock::now();
  std::vector<std::uint8_t> bytes_;
  Row row_;
  bool readable_ = false;
  bool unchanged_ = false;
  bool environment_ = false;
};

/// What the hooks make of the inputs that were read; what one of them throws is its own result.
std::vector<Result<Resized>> resize_all(const ProcessContext& context,
                                        const std::vector<Worker*>& readable) {
  const ResizeOptions& options = context.settings->options;
  std::vector<std::span<const std::uint8_t>> files;
  files.reserve(readable.size());
  for (const Worker* worker : readable) files.push_back(worker->bytes());
  if (context.hooks->resize_all && files.size() > 1)
    return context.hooks->resize_all(files, options);
  std::vector<Result<Resized>> results;
  results.reserve(files.size());
  for (const auto& file : files) {
    try {
      results.push_back(context.hooks->resize(file, options));
    } catch (const std::bad_alloc&) {
      results.push_back(fail(StatusCode::kBusy, "memory ran out"));
    } catch (const std::exception& error) {
      results.push_back(fail(StatusCode::kInternal, error.what()));
    }
  }
  return results;
}

/// Handles the first inputs, as many as make up kGroupBytes.
void process_some(std::span<const Input> inputs, const ProcessContext& context,
                  std::vector<std::vector<std::uint8_t>>& buffers,
                  std::vector<Processed>& processed) {
  std::vector<Worker> workers;
  workers.reserve(inputs.size());
  std::vector<Worker*> readable;
  std::size_t bytes = 0;
  while (workers.size() < inputs.size() && bytes < kGroupBytes) {
    const std::size_t i = workers.size();
    workers.emplace_back(inputs[i], context, buffers[i]);
    if (!workers.back().read()) continue;
    readable.push_back(&workers.back());
    bytes += workers.back().bytes().size();
  }
  const auto results = resize_all(context, readable);
  for (std::size_t i = 0; i < readable.size(); ++i) readable[i]->write(results[i]);
  for (Worker& worker : workers) processed.push_back(worker.finish());
}

}  // namespace

std::vector<Processed> process(std::span<const Input> inputs, const ProcessContext& context,
                               std::vector<std::vector<std::uint8_t>>& buffers) {
  buffers.resize(std::max(buffers.size(), inputs.size()));
  std::vector<Processed> processed;
  processed.reserve(inputs.size());
  while (processed.size() < inputs.size())
    process_some(inputs.subspan(processed.size()), context, buffers, processed);
  return processed;
}

}  // namespace framewire::batch
