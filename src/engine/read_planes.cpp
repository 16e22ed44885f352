// Planes on a GPU of whatever can be decoded.
#include <codec/turbo/coefficient_reader.hpp>
#include <engine/device_stages.hpp>
#include <engine/device_verdict.hpp>

namespace framewire::engine {
namespace {

Result<void> run(DeviceStages& stages, const Request& request, bool resize,
                 const codec::Coefficients* coefficients) {
  return resize ? stages.make_planes(request, coefficients)
                : stages.decode(request.file, coefficients, plan::kFullScale);
}

}  // namespace

Result<void> read_planes(DeviceStages& stages, const Request& request, bool resize) {
  if (!entropy_on_host(request.file.frame)) {
    auto done = run(stages, request, resize, nullptr);
    if (done || done.error().code() != StatusCode::kUnsupported) return done;
  }
  codec::Outcome outcome;
  const auto read = codec::read_coefficients(request.file, request.context, outcome);
  if (!read) return fail(read.error());
  return run(stages, request, resize, &*read);
}

}  // namespace framewire::engine
