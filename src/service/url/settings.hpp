// What a server's operator decides about its URLs; imgproxy's settings, by their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::url {

struct UrlSettings {
  // Signatures. Without keys any signature passes.
  std::vector<std::string> keys{};   ///< hexadecimal; blanks around entries do not count
  std::vector<std::string> salts{};  ///< hexadecimal; the n-th belongs to the n-th key
  int signature_size = 32;           ///< bytes that count, 1 to 32
  std::vector<std::string> trusted_signatures{};

  // Options.
  std::vector<std::string> presets{};  ///< "name=option/option"; "default" applies to every request
  bool only_presets = false;
  std::vector<std::string> allowed_processing_options{};  ///< as URLs spell them; empty: all
  bool allow_security_options = false;
  bool client_hints = false;
  std::string arguments_separator = ":";

  // Sources.
  std::string base_url{};
  std::vector<std::string> url_replacements{};  ///< "pattern=replacement", done in order
  bool base64_url_includes_filename = false;

  std::string path_prefix{};  ///< "/images", or empty
};

/// Parts of a list such as IMGPROXY_PRESETS, without blanks around them and without empty ones.
/// @param separator  not empty
[[nodiscard]] std::vector<std::string> split_list(std::string_view text,
                                                  std::string_view separator);

}  // namespace framewire::service::url
