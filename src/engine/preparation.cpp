#include <engine/device_stages.hpp>
#include <engine/device_verdict.hpp>
#include <engine/preparation.hpp>
#include <new>
#include <utility>

namespace framewire::engine {
namespace {

/// A file that ends with EOI has, but for rare damage, nothing behind its scan; its entropy-coded
/// bytes need no look on the host. Others are parsed whole, so that warnings are complete.
jpeg::ParseDepth depth_for(const Work& work) {
  const auto& bytes = work.bytes;
  const bool ends =
      bytes.size() >= 2 && bytes[bytes.size() - 2] == 0xFF && bytes[bytes.size() - 1] == 0xD9;
  return ends && !work.options.strict ? jpeg::ParseDepth::kThroughFirst : jpeg::ParseDepth::kWhole;
}

/// The total counts from where the request came to this engine.
void parsed_file(Work& work) {
  work.prepared = Prepared::kFile;
  work.request.start = work.arrived;
}

}  // namespace

Result<void> Preparation::parse(Work& work) const {
  auto parsed =
      parse_request(work.bytes, work.options, work.counted_from(), depth_for(work), work.request);
  if (parsed) parsed_file(work);
  return parsed;
}

Result<bool> Preparation::parse_head(Work& work) const {
  if (!device_.reads_scans_only || depth_for(work) != jpeg::ParseDepth::kThroughFirst) return false;
  auto parsed =
      parse_request_head(work.bytes, work.options, work.counted_from(), work.copy, work.request);
  if (parsed && *parsed) parsed_file(work);
  return parsed;
}

Result<Planned> Preparation::plan(Work& work) const {
  const auto planned =
      try_plan_request(work.request, device_.capabilities, converters_, color::Side::kDevice);
  if (!planned || *planned == Planned::kAwaitsConversion) return planned;
  auto turbo = router_.choose(CodecKind::kTurbo);
  if (!turbo) return fail(turbo.error());
  if (auto ok = resize_gain_map(work.request, *turbo->codec); !ok) return fail(ok.error());
  auto head = make_head(work.request);
  if (!head) return fail(head.error());
  work.head = std::move(*head);
  work.prepared = Prepared::kAll;
  return Planned::kAll;
}

Result<Planned> Preparation::plan_on_host(Work& work) const try {
  copy_changing_bytes(work);
  if (work.prepared == Prepared::kAll) return Planned::kAll;
  if (work.prepared == Prepared::kNothing) {
    if (auto ok = parse(work); !ok) return fail(ok.error());
    if (auto ok = jpeg::check_supported(work.request.file); !ok) return fail(ok.error());
  }
  return plan(work);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

Result<void> Preparation::decode_on_host(Work& work) const try {
  if (!entropy_on_host(work.request.file.frame)) return {};
  codec::CodecOutcome outcome;
  work.request.context.helpers = &helpers_;
  auto read = read_on_host(work.request, outcome);
  if (!read) return fail(read.error());
  add_warnings(work.request.report, outcome.warnings);
  work.coefficients = std::move(*read);
  return {};
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

}  // namespace framewire::engine
