#pragma once

#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::service::http {

/// What is wrong with what a user wrote. @param about  the setting or the parameter
inline tl::unexpected<Status> bad_value(std::string_view about, std::string message) {
  return fail(Status(StatusCode::kInvalidInput, std::move(message)).about(std::string(about)));
}

}  // namespace framewire::service::http
