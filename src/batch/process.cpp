#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <base/clock.hpp>
#include <batch/input_file.hpp>
#include <batch/process.hpp>
#include <exception>
#include <new>

namespace framewire::batch {
namespace {

constexpr std::size_t kKeptBytes = 4u << 20;

struct FileFacts {
  std::uint64_t bytes = 0;
  FileId id;
};

std::optional<FileFacts> facts_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return FileFacts{static_cast<std::uint64_t>(facts.st_size), {facts.st_dev, facts.st_ino}};
}

class Worker {
 public:
  Worker(const Input& input, const ProcessContext& context, std::vector<std::uint8_t>& buffer)
      : input_(input), context_(context), buffer_(buffer) {
    row_.input = input.path;
    row_.name = input.name;
    row_.output = context.settings->output_folder + "/" + input.name;
    row_.options_hash = context.options_hash;
  }

  Processed run() {
    const auto start = base::Clock::now();
    try {
      attempt();
    } catch (const std::bad_alloc&) {
      fail_with(Status(StatusCode::kBusy, "memory ran out").about(input_.path));
    } catch (const std::exception& error) {
      fail_with(Status(StatusCode::kInternal, error.what()).about(input_.path));
    }
    if (unchanged_) return {};
    row_.ms = base::elapsed_us(start) / 1000;
    return {std::move(row_), environment_};
  }

 private:
  void attempt() {
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
    row_.bytes_in = bytes->size();
    row_.hash = XXH3_64bits(bytes->data(), bytes->size());
    if (!existing || !done_before(*existing, true)) resize(*bytes);
    // A batch's memory is that of its images in work, not of the largest that it has met.
    if (bytes->capacity() <= kKeptBytes) buffer_ = std::move(*bytes);
  }

  void resize(std::span<const std::uint8_t> bytes) {
    const auto resized = context_.hooks->resize(bytes, context_.settings->options);
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
  Row row_;
  bool unchanged_ = false;
  bool environment_ = false;
};

}  // namespace

Processed process(const Input& input, const ProcessContext& context,
                  std::vector<std::uint8_t>& buffer) {
  return Worker(input, context, buffer).run();
}

}  // namespace framewire::batch
