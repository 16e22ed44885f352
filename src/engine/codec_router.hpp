// Chooses the codec of a request and says why.
#pragma once

#include <codec/codec.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <string>

namespace framewire::engine {

/// Whether a codec needs no device; kAuto is not among them.
[[nodiscard]] constexpr bool runs_on_host(CodecKind kind) noexcept {
  return kind == CodecKind::kTurbo || kind == CodecKind::kReference;
}

struct CodecRoute {
  const codec::Codec* codec = nullptr;
  std::string reason;
};

/// The codecs that run on the CPU. Immutable; safe on many threads.
class CodecRouter {
 public:
  CodecRouter();

  /// @return unsupported for codecs that need a GPU
  [[nodiscard]] Result<CodecRoute> choose(CodecKind asked) const;
  /// The CPU codec's cache of resampling filters.
  [[nodiscard]] base::CacheUse filters() const { return turbo_->filters(); }

 private:
  std::unique_ptr<codec::Codec> turbo_;
  std::unique_ptr<codec::Codec> reference_;
};

}  // namespace framewire::engine
