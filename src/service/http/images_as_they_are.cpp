// Pictures by URL that are not processed: originals, or what they encode behind another head.
#include <fmt/format.h>
#include <color/assumed_profile.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/replace_head.hpp>
#include <new>
#include <service/http/frame_size.hpp>
#include <service/http/images.hpp>

namespace framewire::service::http {
namespace {

using CodedCopy = Result<std::vector<std::uint8_t>>;

bool is_jpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

CodedCopy copy_with_other_head(const ImageComputation& wanted) try {
  const ResizeOptions& options = wanted.options;
  const base::Deadline deadline(wanted.fetched, options.limits.deadline_ms);
  auto file =
      jpeg::parse(wanted.original.bytes, options.limits, jpeg::ParseDepth::kWhole, deadline);
  if (!file) return fail(file.error());
  // Where EXIF alone says that the numbers are Adobe RGB, and is left out, a profile says it.
  (void)color::assume_profile(*file);
  return jpeg::replace_head(*file, options.metadata, options.gain_map, options.limits, deadline);
} catch (const std::bad_alloc&) {  // what it took has been freed
  return fail(StatusCode::kBusy, "memory ran out");
}

}  // namespace

void Images::hand_on(const Computation& computation) {
  const source::Original& original = computation->original;
  ImageOutcome& outcome = computation->outcome;
  outcome.is_jpeg = is_jpeg(original.bytes);
  const bool raw = computation->recipe.text.ends_with("-raw");
  const std::uint64_t pixels = count_frame_pixels(original.bytes);
  const std::uint64_t bound = computation->options.limits.max_input_pixels;
  if (!raw && (!outcome.is_jpeg || pixels > bound)) {
    fail_with(computation, Code::kUnprocessable, outcome.is_jpeg ? "too_large" : "invalid_input",
              outcome.is_jpeg ? fmt::format("found {} pixels; accepted: at most {}", pixels, bound)
                              : "the original is no JPEG");
    return;
  }
  if (computation->replaces_head) {
    replace_head(computation);
    return;
  }
  outcome.bytes = original.bytes;
  outcome.keeper = original.keeper;
  answer_waiters(computation);
}

// Aside, since all bytes of the file are looked through.
void Images::replace_head(const Computation& computation) {
  const bool taken = computation->io->shared().run_aside([this, computation] {
    try {
      const auto copy =
          std::make_shared<CodedCopy>(fail(StatusCode::kCancelled, "nobody waits for it"));
      if (!computation->stop.stop_requested()) *copy = copy_with_other_head(*computation);
      const bool posted =
          computation->io->post([this, computation, copy] { on_copy(computation, *copy); });
      if (!posted) forget(*computation);
    } catch (...) {
      forget(*computation);
    }
  });
  if (!taken) throw std::bad_alloc();
}

void Images::on_copy(const Computation& computation, Result<std::vector<std::uint8_t>>& copy) {
  ImageOutcome& outcome = computation->outcome;
  computation->original.bytes = {};
  computation->original.keeper.reset();
  if (!copy) {
    const Response told = error_response(ErrorForm::kText, copy.error());
    fail_with(computation, told.code, to_string(copy.error().code()), told.message);
    return;
  }
  try {
    auto bytes = std::make_shared<std::vector<std::uint8_t>>(std::move(*copy));
    outcome.bytes = *bytes;
    outcome.keeper = std::move(bytes);
  } catch (const std::bad_alloc&) {
    fail_with(computation, Code::kUnavailable, "busy", "memory ran out");
    return;
  }
  answer_waiters(computation);
}

}  // namespace framewire::service::http
