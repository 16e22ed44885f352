// What an origin's answer is good for, and what of it is handed on.
#pragma once

#include <cstdint>
#include <service/source/sources.hpp>
#include <store/http_answer_head.hpp>
#include <string_view>

namespace framewire::service::source {

enum class AnswerMeaning : std::uint8_t { kBody, kNotModified, kRedirect };

/// @param head         a complete one
/// @param conditional  the request had a condition, so that a 304 means something
/// @return kRedirect only where there is one Location
[[nodiscard]] Fetched<AnswerMeaning> judge(const store::HttpAnswerHead& head, bool conditional);

/// Fills etag, last_modified, content_type, cache_control, expires, age and vary.
void describe(const store::HttpAnswerHead& head, Original& original);

/// Whether a value is neither empty nor too long and can stand in a header line.
[[nodiscard]] bool is_field_value(std::string_view value) noexcept;

}  // namespace framewire::service::source
