// The picture that is answered where an original cannot be had.
#pragma once

#include <cstdint>
#include <memory>
#include <service/http/response.hpp>
#include <service/http/settings.hpp>
#include <service/pictures/picture_engine.hpp>
#include <service/source/sources.hpp>
#include <span>

namespace framewire::service::http {

/// Read once. Thread safety: const, from any thread.
class FallbackImage {
 public:
  /// @return io_error, invalid_input or too_large about the file, which must be a JPEG within the
  ///         limits of originals
  [[nodiscard]] static Result<FallbackImage> open(const ServiceSettings& settings,
                                                  PictureEngine& engine);

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::shared_ptr<const void>& keeper() const noexcept { return keeper_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::shared_ptr<const void> keeper_;
};

/// Whether the original is to blame: not the URL that may not be asked for, and not us.
[[nodiscard]] bool may_fall_back(source::FetchErrorKind kind) noexcept;
[[nodiscard]] bool may_fall_back(StatusCode code) noexcept;

}  // namespace framewire::service::http
