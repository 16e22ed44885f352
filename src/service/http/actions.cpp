#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <base/ascii.hpp>
#include <inspect/model.hpp>
#include <iterator>
#include <service/http/actions.hpp>
#include <service/http/connection.hpp>
#include <service/http/multipart.hpp>
#include <service/http/report_fields.hpp>
#include <service/page/page.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

struct ActionRoute {
  Text path;
  Action action;
  Text allow;  ///< methods, as the Allow field names them
};

constexpr Text kReading = "GET, HEAD, OPTIONS";
constexpr Text kUpload = "POST, OPTIONS";
constexpr ActionRoute kRoutes[] = {
    {"/livez", Action::kLive, kReading},         {"/health", Action::kLive, kReading},
    {"/readyz", Action::kReady, kReading},       {"/", Action::kPage, kReading},
    {"/v1/options", Action::kOptions, kReading}, {"/v1/resize", Action::kResize, kUpload},
    {"/v1/inspect", Action::kInspect, kUpload},  {"/metrics", Action::kMetrics, kReading},
};

// What is around the file in a form.
constexpr std::uint64_t kMaxFormOverheadBytes = 64u << 10;

bool is_picture_type(Text type) {
  // The last one is what curl --data-binary says when it is told nothing.
  constexpr Text kTypes[] = {"",
                             "image/jpeg",
                             "image/jpg",
                             "image/pjpeg",
                             "application/octet-stream",
                             "application/x-www-form-urlencoded"};
  return std::any_of(std::begin(kTypes), std::end(kTypes),
                     [&](Text known) { return base::equals_ignoring_case(type, known); });
}

Response refuse(const Exchange& exchange, Code code, Text word, Text message, Text about = {}) {
  return error_response(exchange.error_form, code, word, message, about);
}

// A wrong option is the request's fault (400), a wrong picture is not (422).
Response refuse_option(const Exchange& exchange, const Status& status) {
  return refuse(exchange, Code::kBadRequest, to_string(status.code()), status.message(),
                status.subject());
}

std::optional<Response> check_type(Exchange& exchange) {
  if (const Text coding = exchange.head.get("content-encoding");
      !coding.empty() && !base::equals_ignoring_case(coding, "identity")) {
    return refuse(exchange, Code::kUnsupportedMediaType, "unsupported",
                  "accepted: bodies without a content coding", "Content-Encoding");
  }
  const Text full = exchange.head.get("content-type");
  const Text type = base::trim_blanks(full.substr(0, full.find(';')));
  if (is_picture_type(type)) return std::nullopt;
  const auto boundary = form_boundary(full);
  if (!boundary) {
    return refuse(exchange, Code::kUnsupportedMediaType, "unsupported",
                  "accepted: image/jpeg, application/octet-stream and multipart/form-data",
                  "Content-Type");
  }
  if (boundary->empty()) {
    return refuse(exchange, Code::kBadRequest, "invalid_input", "found no boundary",
                  "Content-Type");
  }
  exchange.boundary = *boundary;
  return std::nullopt;
}

Response make_picture_answer(Exchange& exchange, Resized resized) {
  Response response;
  const Report& report = resized.report;
  const auto now = Exchange::Clock::now();
  const double total_ms =
      std::chrono::duration<double, std::milli>(now - exchange.received).count();
  response.content_type = "image/jpeg";
  add_report_fields(response, report);
  response.add_field(
      "Server-Timing",
      fmt::format("queue;dur={:.3f}, parse;dur={:.3f}, decode;dur={:.3f}, encode;dur={:.3f}",
                  queue_ms(total_ms, report.times), report.times.parse_us / 1000,
                  report.times.decode_resample_us / 1000, report.times.encode_us / 1000));
  exchange.codec = to_string(report.codec);
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(std::move(resized.bytes));
  response.bytes = *bytes;
  response.keeper = std::move(bytes);
  return response;
}

// Methods are case-sensitive; the lists of Allow are not.
bool is_upper(Text method) { return std::none_of(method.begin(), method.end(), base::is_lower); }

// Health and metrics are asked for with and without the prefix; nothing else is.
Text without_prefix(Text path, Text prefix) {
  if (prefix.empty() || path == "/livez" || path == "/readyz" || path == "/health" ||
      path == "/metrics") {
    return path;
  }
  if (!path.starts_with(prefix)) return {};
  const Text rest = path.substr(prefix.size());
  if (rest.empty()) return "/";
  return rest.starts_with('/') ? rest : Text();
}

ActionRoute find_route(Text path, const Snapshot& snapshot) {
  if (path == "*") return {path, Action::kLive, "GET, HEAD, POST, OPTIONS"};
  const auto found = std::find_if(std::begin(kRoutes), std::end(kRoutes),
                                  [&](const ActionRoute& known) { return known.path == path; });
  if (found != std::end(kRoutes)) {
    const bool off = found->action == Action::kPage && !snapshot.settings.page;
    return off ? ActionRoute{path, Action::kNone, {}} : *found;
  }
  const bool reserved = path.empty() || path.starts_with("/v1/") || path == "/favicon.ico" ||
                        path.starts_with("/.well-known/");
  if (reserved || snapshot.sources == nullptr) return {path, Action::kNone, {}};
  return {path, Action::kImage, kReading};
}

// A browser on this machine sends whatever name a page elsewhere has given to 127.0.0.1.
bool names_loopback(Text host) {
  const auto colon = host.rfind(':');
  const bool has_port = colon != Text::npos && host.find(']', colon) == Text::npos;
  const Text name = has_port ? host.substr(0, colon) : host;
  return name.empty() || base::equals_ignoring_case(name, "localhost") || name == "[::1]" ||
         (name.starts_with("127.") && name.find_first_not_of("0123456789.") == Text::npos);
}

bool may_read_metrics(const Exchange& exchange, const SharedState& shared) {
  if (exchange.metrics_listener) return true;
  const auto& places = shared.settings.metrics;
  if (!places.empty()) return std::find(places.begin(), places.end(), "main") != places.end();
  // A proxy on this machine asks for others; most say so.
  constexpr Text kForwarded[] = {"forwarded", "via", "x-forwarded-for", "x-real-ip"};
  const bool forwarded = std::any_of(std::begin(kForwarded), std::end(kForwarded),
                                     [&](Text name) { return exchange.head.has(name); });
  return exchange.local_peer && !forwarded && names_loopback(exchange.head.get("host"));
}

// Takes as long for a wrong secret as for the right one of the same length.
bool has_secret(const Head& head, Text secret) {
  if (secret.empty()) return true;
  constexpr Text kScheme = "Bearer ";  // in any case (RFC 9110, 11.1)
  const Text value = head.get("authorization");
  if (value.size() != kScheme.size() + secret.size() ||
      !base::equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  unsigned different = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    different |= static_cast<unsigned char>(value[kScheme.size() + i] ^ secret[i]);
  }
  return different == 0;
}

Response page_response() {
  Response response;
  response.content_type = "text/html; charset=utf-8";
  response.security_policy =
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
      "img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'";
  response.add_field("Cache-Control", "no-cache");
  response.use_shared(page::index_html());
  return response;
}

Response make_refusal(ErrorForm form, ClientAdmission::Verdict verdict) {
  switch (verdict) {
    case ClientAdmission::Verdict::kQueueFull:
      return error_response(form, Code::kTooManyRequests, "busy",
                            "too many requests are under way");
    case ClientAdmission::Verdict::kClientShare:
      return error_response(form, Code::kTooManyRequests, "busy",
                            "others wait, and requests from this address have their share");
    case ClientAdmission::Verdict::kOverBudget:
    case ClientAdmission::Verdict::kAdmitted:
      break;
  }
  return error_response(form, Code::kUnavailable, "busy", "too much is in memory now");
}

}  // namespace

std::optional<Response> route(Exchange& exchange, const SharedState& shared) {
  const Snapshot& snapshot = *exchange.snapshot;
  const Text path = without_prefix(exchange.target.path, snapshot.settings.url.path_prefix);
  if (path.starts_with("/v1/")) exchange.error_form = ErrorForm::kJson;
  ActionRoute known = find_route(path, snapshot);
  const bool is_metrics = known.action == Action::kMetrics;
  if (is_metrics ? !may_read_metrics(exchange, shared) : exchange.metrics_listener) {
    known.action = Action::kNone;
  }
  const Text method = exchange.head.method;
  if (known.action == Action::kNone) {
    return refuse(exchange, Code::kNotFound, "not_found", "there is nothing of that name here");
  }
  if (method == "OPTIONS") {
    Response response;
    response.add_field("Allow", known.allow);
    if (!snapshot.settings.allow_origin.empty() && !is_metrics) {
      // What a browser asks before it sends a picture, or a secret, from another origin's page.
      response.add_field("Access-Control-Allow-Methods", known.allow);
      response.add_field("Access-Control-Allow-Headers", "Authorization, Content-Type");
    }
    return response;
  }
  if (!list_has(known.allow, method) || !is_upper(method)) {
    Response response = refuse(exchange, Code::kMethodNotAllowed, "method_not_allowed",
                               fmt::format("accepted: {}", known.allow));
    response.add_field("Allow", known.allow);
    return response;
  }
  exchange.action = known.action;
  const bool upload = exchange.action == Action::kResize || exchange.action == Action::kInspect;
  if (!upload && exchange.head.has_body()) {
    return refuse(exchange, Code::kBadRequest, "invalid_input", "such a request has no body");
  }
  if (upload && !takes_uploads(snapshot.settings)) {
    return refuse(exchange, Code::kForbidden, "denied",
                  "pictures are not taken here; the setting uploads says so, or keys or "
                  "only-presets without a secret");
  }
  const bool guarded = upload || exchange.action == Action::kImage;
  if (guarded && !has_secret(exchange.head, snapshot.settings.secret)) {
    return refuse(exchange, Code::kForbidden, "denied", "accepted: Authorization with the secret");
  }
  return std::nullopt;
}

std::optional<Response> check_upload(Exchange& exchange, const ResizeOptions& defaults) {
  const Head& head = exchange.head;
  if (!head.chunked && !head.content_length) {
    return refuse(exchange, Code::kLengthRequired, "length_required",
                  "accepted: Content-Length, or Transfer-Encoding: chunked");
  }
  if (auto refused = check_type(exchange)) return refused;
  const std::uint64_t bound =
      defaults.limits.max_input_bytes + (exchange.boundary.empty() ? 0 : kMaxFormOverheadBytes);
  if (head.content_length.value_or(0) > bound) {
    return refuse(exchange, Code::kPayloadTooLarge, "too_large",
                  fmt::format("found {} bytes; accepted: at most {}", *head.content_length, bound));
  }
  exchange.options = defaults;
  const auto query = parse_query(exchange.target.query);
  if (!query) return refuse_option(exchange, query.error());
  if (auto set = set_options(exchange.options, *query); !set) {
    return refuse_option(exchange, set.error());
  }
  return std::nullopt;
}

std::optional<Response> read_upload(Exchange& exchange) {
  exchange.jpeg = exchange.body.bytes();
  if (!exchange.boundary.empty()) {
    auto form = parse_form(exchange.body.bytes(), exchange.boundary);
    if (!form) return refuse_option(exchange, form.error());
    if (auto once = check_given_once(exchange.target.query, form->fields); !once) {
      return refuse_option(exchange, once.error());
    }
    if (auto set = set_options(exchange.options, form->fields); !set) {
      return refuse_option(exchange, set.error());
    }
    exchange.jpeg = form->file;
  }
  if (exchange.jpeg.empty()) {
    return refuse(exchange, Code::kUnprocessable, "invalid_input", "the body is empty");
  }
  return std::nullopt;
}

Response answer_at_once(const Exchange& exchange, const SharedState& shared) {
  if (exchange.action == Action::kReady && shared.draining.load()) {
    return refuse(exchange, Code::kUnavailable, "draining", "the server is ending");
  }
  if (exchange.action == Action::kReady && !shared.engine.ready()) {
    return refuse(exchange, Code::kUnavailable, "busy",
                  "no worker process runs, or all GPUs are lost");
  }
  if (exchange.action == Action::kPage) return page_response();
  Response response;
  response.add_field("Cache-Control", "no-cache");
  if (exchange.action == Action::kOptions) {
    response.content_type = "application/json";
    response.use_shared(exchange.snapshot->options_json, exchange.snapshot);
  } else {
    response.use_shared("ok\n");
  }
  return response;
}

Response inspect_picture(const Exchange& exchange) {
  const inspect::Value model = inspect::inspect_bytes("body", exchange.jpeg, exchange.options);
  Response response;
  if (const inspect::Value* const error = model.find("error")) {
    // The model is the answer also for what cannot be read, unless that is not the file's fault.
    const inspect::Value* const kind = error->find("class");
    const bool busy = kind != nullptr && kind->string() != nullptr && *kind->string() == "busy";
    response.code = busy ? Code::kUnavailable : Code::kUnprocessable;
  }
  response.content_type = "application/json";
  response.text = inspect::pretty(model);
  return response;
}

Response refuse_admission(ErrorForm form, ClientAdmission::Verdict verdict) {
  constexpr std::size_t kForms = 2;
  constexpr std::size_t kVerdicts = 4;
  static const auto kTexts = [] {
    std::array<std::string, kForms * kVerdicts> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i] = make_refusal(static_cast<ErrorForm>(i / kVerdicts),
                              static_cast<ClientAdmission::Verdict>(i % kVerdicts))
                     .text;
    }
    return texts;
  }();
  Response response = make_refusal(form, verdict);
  response.text = {};
  response.use_shared(
      kTexts[static_cast<std::size_t>(form) * kVerdicts + static_cast<std::size_t>(verdict)]);
  return response;
}

void answer_picture(Exchange& exchange, Result<Resized> result) noexcept {
  exchange.body_in_use = false;
  const auto connection = exchange.connection.lock();
  if (connection == nullptr || exchange.answered) return;
  try {
    connection->answer(exchange, result ? make_picture_answer(exchange, std::move(*result))
                                        : error_response(exchange.error_form, result.error()));
  } catch (...) {
    connection->fail(exchange);
  }
}

void answer_busy(Exchange& exchange) noexcept {
  exchange.body_in_use = false;
  const auto connection = exchange.connection.lock();
  if (connection == nullptr || exchange.answered) return;
  try {
    connection->answer(
        exchange, refuse_admission(exchange.error_form, ClientAdmission::Verdict::kOverBudget));
  } catch (...) {
    connection->fail(exchange);
  }
}

}  // namespace framewire::service::http
