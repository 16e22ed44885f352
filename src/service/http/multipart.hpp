// multipart/form-data (RFC 7578): one file, and options as fields.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <service/http/query.hpp>
#include <span>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// A form with one file.
struct Form {
  std::span<const std::uint8_t> file;  ///< points into the body
  Parameters fields;
};

/// The boundary that a Content-Type names.
/// @param content_type  of a request, as sent
/// @return nothing where it is no multipart/form-data; an empty text where it has no boundary of 1
///         to 70 bytes that RFC 2046 allows
[[nodiscard]] std::optional<std::string> form_boundary(std::string_view content_type);

/// Reads a whole form. The file is the part that has a file name, or is called "file" or "image";
/// every other part is a field of at most 256 bytes. A part with an empty file name and no data,
/// which browsers send where no file was chosen, does not count.
/// @return invalid_input for what is no such form, no file or two of them, a field given twice,
///         and more than 64 parts
/// @cost linear in the body
[[nodiscard]] Result<Form> parse_form(std::span<const std::uint8_t> body,
                                      std::string_view boundary);

}  // namespace framewire::service::http
