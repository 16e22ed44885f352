// Entropy decoding for GPUs that leave it to the host.
#include <codec/turbo/coefficient_reader.hpp>
#include <engine/device_stages.hpp>
#include <new>

namespace framewire::engine {

Result<codec::Coefficients> read_on_host(const Request& request, codec::CodecOutcome& outcome) try {
  return codec::read_coefficients(request.file, request.context, outcome);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

}  // namespace framewire::engine
