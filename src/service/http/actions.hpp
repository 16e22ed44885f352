// What the server does: which request asks for what, and how it is answered.
#pragma once

#include <framewire/engine.hpp>
#include <service/http/exchange.hpp>
#include <service/http/response.hpp>
#include <service/http/shared_state.hpp>
#include <string_view>

namespace framewire::service::http {

/// Finds out what a request asks for, and sets `action` and `error_form`.
/// @return an answer where there is nothing more to do: 404, 405 with Allow, OPTIONS, 403 without
/// the secret
[[nodiscard]] std::optional<Response> route(Exchange& exchange, const SharedState& shared);

/// Looks at all that the head of a request with a body says: type, length, options.
/// @return an answer where it is refused: 400, 411, 413, 415
[[nodiscard]] std::optional<Response> check_upload(Exchange& exchange,
                                                   const ResizeOptions& defaults);

/// Finds the picture in a body that has come whole, and the options of a form.
/// @return an answer where there is none
[[nodiscard]] std::optional<Response> read_upload(Exchange& exchange);

/// The answer to a request that needs no work: health and readiness.
[[nodiscard]] Response answer_at_once(const Exchange& exchange, const SharedState& shared);

/// What `framewire inspect --json` prints. May take long.
[[nodiscard]] Response inspect_picture(const Exchange& exchange);

/// An answer for a verdict other than kAdmitted. Its body is shared.
[[nodiscard]] Response refuse_admission(ErrorForm form, ClientAdmission::Verdict verdict);

/// Gives an engine's answer to the connection, if it is still there. Any failure on the way,
/// memory that ran out included, closes the connection.
void answer_picture(Exchange& exchange, Result<Resized> result) noexcept;
/// Answers 503: there was no room after all.
void answer_busy(Exchange& exchange) noexcept;

}  // namespace framewire::service::http
