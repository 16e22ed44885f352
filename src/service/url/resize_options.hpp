// From options of URLs to what the library is asked for.
#pragma once

#include <framewire/options.hpp>
#include <service/url/image_options.hpp>
#include <service/url/request_error.hpp>

namespace framewire::service::url {

/// What the service makes where neither settings nor the URL say more: the library's defaults, but
/// copyright and author stay (imgproxy's strip_metadata and keep_copyright).
[[nodiscard]] ResizeOptions service_defaults(const Limits& limits = {});

/// The options of a URL with what they leave open filled in from the server's. What only the
/// library's options can say stays in those. Filled options stay as they are.
[[nodiscard]] ImageOptions with_defaults(ImageOptions said, const ResizeOptions& defaults);

/// What one request asks of the library; validate() accepts the result.
///
/// Options that do nothing to a JPEG are passed over. raw and skip_processing are no matter of
/// resizing: whoever calls this looks at ImageRequest::raw and skips_processing() before.
/// max_src_resolution and max_src_file_size take the place of the server's limits, in both
/// directions, as the grammar admits them only where the settings do; 0 leaves the server's.
/// @param defaults  of the server: count where the URL says nothing; its limits among them
/// @return unsupported, naming an option that is valid in imgproxy but has no place from JPEG to
///         JPEG here, or whose value is beyond what the library takes
[[nodiscard]] Parsed<ResizeOptions> to_resize_options(const ImageOptions& options,
                                                      const ResizeOptions& defaults);
[[nodiscard]] inline Parsed<ResizeOptions> to_resize_options(const ImageOptions& options,
                                                             const Limits& limits) {
  return to_resize_options(options, service_defaults(limits));
}

/// Whether a JPEG is to be sent as it came, once its size was checked.
[[nodiscard]] bool skips_processing(const ImageOptions& options) noexcept;

/// The picture as the original shows it: what shapes it is left out, and what concerns its
/// encoding, colours, metadata and limits stays.
[[nodiscard]] ResizeOptions as_the_original_is(const ResizeOptions& options);

/// Whether a crop has a place of its own, other than `gravity`.
[[nodiscard]] bool has_crop_gravity(const ImageOptions& options) noexcept;
[[nodiscard]] bool has_padding(const PaddingOptions& padding) noexcept;
/// Whether something is added around the picture that needs a colour.
[[nodiscard]] bool adds_background(const ImageOptions& options) noexcept;
/// 1 to 100, or 0 for the server's default: quality, else format_quality of JPEG.
[[nodiscard]] int jpeg_quality(const ImageOptions& options) noexcept;

}  // namespace framewire::service::url
