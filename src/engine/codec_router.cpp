#include <fmt/format.h>
#include <codec/reference/reference_codec.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <engine/codec_router.hpp>

namespace framewire::engine {

CodecRouter::CodecRouter()
    : turbo_(codec::make_turbo_codec()), reference_(codec::make_reference_codec()) {}

Result<CodecRoute> CodecRouter::choose(CodecKind asked) const {
  switch (asked) {
    case CodecKind::kAuto:
      return CodecRoute{turbo_.get(), "the fastest on the CPU"};
    case CodecKind::kTurbo:
      return CodecRoute{turbo_.get(), "requested"};
    case CodecKind::kReference:
      return CodecRoute{reference_.get(), "requested"};
    case CodecKind::kCuda:
    case CodecKind::kNvjpeg:
      break;
  }
  return fail(Status(StatusCode::kUnsupported,
                     fmt::format("{} runs in an engine with a GPU; here are auto, turbo and "
                                 "reference",
                                 to_string(asked)))
                  .about("codec"));
}

}  // namespace framewire::engine
