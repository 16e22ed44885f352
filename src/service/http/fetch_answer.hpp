// How failed fetches are answered.
#pragma once

#include <service/http/response.hpp>
#include <service/source/sources.hpp>
#include <string_view>

namespace framewire::service::http {

/// What a stranger is told: never an address or a file of this machine.
struct FetchAnswer {
  Code code = Code::kInternal;
  std::string_view word;     ///< static storage
  std::string_view message;  ///< static storage
};
[[nodiscard]] FetchAnswer fetch_answer(const source::FetchError& error) noexcept;

}  // namespace framewire::service::http
