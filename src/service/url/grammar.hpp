// From a request's target to what is wanted: imgproxy's grammar under one server's settings.
#pragma once

#include <chrono>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <service/url/image_request.hpp>
#include <service/url/request_error.hpp>
#include <service/url/settings.hpp>
#include <string_view>

namespace framewire::service::url {

/// Header fields by which a browser tells its screen; only UrlSettings::client_hints lets them
/// count. Values that make no sense are passed over. URLs win.
struct ClientHints {
  std::optional<std::string_view> sec_ch_dpr;
  std::optional<std::string_view> dpr;
  std::optional<std::string_view> sec_ch_width;
  std::optional<std::string_view> width;
};

/// Made once; const and safe for any number of threads from then on.
class Grammar {
 public:
  /// @return invalid_input naming the setting: bad keys (see Signatures), a preset that a request
  ///         could not use, an allowed option that does not exist, an arguments separator that is
  ///         empty or has a slash or question mark, a bad replacement, a path prefix without a
  ///         slash at its head or with one at its end
  [[nodiscard]] static Result<Grammar> make(UrlSettings settings);

  Grammar(Grammar&&) noexcept;
  Grammar& operator=(Grammar&&) noexcept;
  ~Grammar();

  /// Reads a target. Checked in this order, of which the first failure is answered: length, parts,
  /// signature, options (presets first), source, extension.
  ///
  /// Time grows with the target's length, which is bounded by kMaxTargetBytes, and with the presets
  /// that it names, each of which counts once.
  /// @param target  as it stands in the request's first line: not decoded, with or without a query
  /// @param now     for expiry
  /// @return every kind of RequestErrorKind but unsupported; never throws
  [[nodiscard]] Parsed<ImageRequest> parse(std::string_view target, std::chrono::sys_seconds now,
                                           const ClientHints& hints = {}) const noexcept;

  [[nodiscard]] const UrlSettings& settings() const noexcept;

 private:
  struct Rules;
  explicit Grammar(std::unique_ptr<const Rules> rules);
  std::unique_ptr<const Rules> rules_;
};

}  // namespace framewire::service::url
