#include <base/queue_deadline.hpp>
#include <batch/caught.hpp>
#include <batch/engine_gone.hpp>
#include <batch/input_error.hpp>
#include <batch/input_reader.hpp>
#include <batch/one_input.hpp>
#include <memory>
#include <utility>

namespace framewire::batch {

OneInput::OneInput(Input input, const ProcessContext& context, std::vector<std::uint8_t> buffer)
    : input_(std::move(input)), context_(context), buffer_(std::move(buffer)) {
  row_.input = input_.label;
  row_.name = input_.name;
  row_.options_hash = context.options_hash;
}

bool OneInput::read(std::span<std::uint8_t> room) {
  guarded([&] { open_and_read(room); });
  return readable_;
}

void OneInput::write(const Result<Resized>& resized) {
  guarded([&] { write_output(resized); });
}

Processed OneInput::take_result() {
  if (unchanged_) return {};
  row_.ms = base::elapsed_us(start_) / 1000;
  return {std::move(row_), environment_};
}

template <typename Body>
void OneInput::guarded(Body body) {
  const auto good = caught([&]() -> Result<void> {
    body();
    return {};
  });
  if (!good) fail_with(about_label(good.error(), input_.label));
}

void OneInput::open_and_read(std::span<std::uint8_t> room) {
  if (input_.error) return fail_with(*input_.error);
  const auto open = context_.source->open(input_);
  if (!open) return fail_with(about_label(open.error(), input_.label));
  if (*open == nullptr) {
    return fail_with(Status(StatusCode::kInternal, "its source gave nothing").about(input_.label));
  }
  const InputFacts& facts = (*open)->facts();
  row_.bytes_in = facts.bytes.value_or(0);
  row_.mtime_ns = facts.mtime_ns.value_or(0);
  row_.version = facts.version;
  permissions_ = facts.permissions;
  const auto earlier = find_earlier();
  if (!earlier) {
    const Status& error = earlier.error();  // about the output, where it says so
    return fail_with(error.subject().empty() ? about_file(error, input_.label) : error);
  }
  const bool told = !facts.version.empty() || (facts.bytes && facts.mtime_ns);
  if (*earlier && told && done_before(**earlier, false)) return;
  if (!read_jpeg(**open, room)) return;
  readable_ = !*earlier || !done_before(**earlier, true);
}

// @return whether there is something to resize; if not, the row says why
bool OneInput::read_jpeg(OpenInput& open, std::span<std::uint8_t> room) {
  InputReader reader(open, input_.label, context_.settings->options.limits.max_input_bytes,
                     context_.hashed);
  const auto failed = [this](const Status& status) {
    fail_with(about_label(status, input_.label));
    return false;
  };
  const auto jpeg = reader.starts_like_jpeg();
  if (!jpeg) return failed(jpeg.error());
  if (!*jpeg) return failed(foreign(reader.empty()));
  if (auto admitted = context_.sink->admit(input_, open); !admitted) {
    return failed(admitted.error());
  }
  const auto bytes = reader.read(room, buffer_);
  if (!bytes) return failed(bytes.error());
  bytes_ = *bytes;
  row_.input_read = true;
  row_.bytes_in = bytes_.size();
  if (context_.hashed) row_.hash = reader.hash();
  return true;
}

// What an earlier run has made of it: asked for only where a row says that it did.
Result<std::optional<std::uint64_t>> OneInput::find_earlier() const {
  if (context_.done == nullptr || !context_.done->made(row_.name)) return std::nullopt;
  return context_.sink->find(row_.name);
}

// Compares by version or time before the input is read, by content after.
bool OneInput::done_before(std::uint64_t bytes_out, bool content) {
  const DoneRow wanted{row_.name, true,      row_.bytes_in,         row_.mtime_ns,
                       bytes_out, row_.hash, context_.options_hash, row_.version};
  unchanged_ = content ? context_.done->done_by_content(wanted) : context_.done->done(wanted);
  return unchanged_;
}

void OneInput::write_output(const Result<Resized>& resized) {
  if (!resized) {
    const Status& error = resized.error();
    environment_ = is_engine_gone(error);
    // No fault of the picture: it may be made when there is less to do.
    const bool late = base::is_late_in_queue(error);
    return fail_with(
        about_file(late ? Status(StatusCode::kBusy, error.message()) : error, input_.label));
  }
  take_report(resized->report);
  Output output{context_.sink->label(input_.name), input_.name, input_.label, permissions_,
                context_.done != nullptr && context_.done->made(row_.name)};
  if (const auto written = context_.sink->commit(output, resized->bytes); !written) {
    environment_ = written.error().environment;
    const Status& status = written.error().status;
    return fail_with(status.subject().empty() ? about_file(status, output.label) : status);
  }
  row_.output = std::move(output.label);
  row_.bytes_out = resized->bytes.size();
  row_.outcome = Outcome::kOk;
  row_.error.reset();
}

void OneInput::take_report(const Report& report) {
  row_.in_width_px = report.input.width_px;
  row_.in_height_px = report.input.height_px;
  row_.out_width_px = report.output.width_px;
  row_.out_height_px = report.output.height_px;
  row_.codec = report.codec;
  row_.original_kept = report.original_kept;
  row_.warnings = report.warnings;
}

Status OneInput::foreign(bool empty) const {
  return Status(StatusCode::kInvalidInput, empty
                                               ? "is empty; accepted: JPEG, which begins with FF D8"
                                               : "does not begin with FF D8, as JPEG does")
      .about(input_.label)
      .at(0);
}

void OneInput::fail_with(Status status) {
  const bool skipped = status.code() == StatusCode::kInvalidInput && !input_.expected;
  row_.outcome = skipped && !readable_ ? Outcome::kSkipped : Outcome::kFailed;
  row_.error = std::move(status);
}

}  // namespace framewire::batch
