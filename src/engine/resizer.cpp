#include <engine/codec_router.hpp>
#include <engine/converter_cache.hpp>
#include <engine/request.hpp>
#include <framewire/resizer.hpp>
#include <new>

namespace framewire {

struct Resizer::State {
  engine::CodecRouter router;
  engine::ConverterCache converters;
};

Resizer::Resizer() : state_(std::make_unique<State>()) {}
Resizer::~Resizer() = default;
Resizer::Resizer(Resizer&&) noexcept = default;
Resizer& Resizer::operator=(Resizer&&) noexcept = default;

Result<Resized> Resizer::resize(std::span<const std::uint8_t> jpeg,
                                const ResizeOptions& options) const try {
  const auto start = base::Clock::now();
  if (auto ok = validate(options); !ok) return fail(ok.error());
  const auto route = state_->router.choose(options.codec);
  if (!route) return fail(route.error());
  engine::Request request;
  auto parsed = engine::parse_request(jpeg, options, start, jpeg::ParseDepth::kWhole, request);
  if (!parsed) return fail(parsed.error());
  return engine::run_request(request, *route->codec, route->reason, state_->converters);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

}  // namespace framewire
