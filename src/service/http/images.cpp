#include <fmt/format.h>
#include <algorithm>
#include <ctime>
#include <framewire/version.hpp>
#include <iterator>
#include <jpeg/parser.hpp>
#include <service/http/actions.hpp>
#include <service/http/connection.hpp>
#include <service/http/fetch_answer.hpp>
#include <service/http/frame_size.hpp>
#include <service/http/freshness.hpp>
#include <service/http/grammar_settings.hpp>
#include <service/http/images.hpp>
#include <service/url/resize_options.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Clock = std::chrono::steady_clock;
using Text = std::string_view;

double ms_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

std::optional<Text> hint(const Head& head, Text name) {
  const Text value = head.get(name);
  return value.empty() ? std::nullopt : std::optional(value);
}

url::ClientHints hints_of(const Head& head) {
  return {hint(head, "sec-ch-dpr"), hint(head, "dpr"), hint(head, "sec-ch-width"),
          hint(head, "width")};
}

Response refuse_url(ErrorForm form, const url::RequestError& error) {
  using Kind = url::RequestErrorKind;
  Code code = Code::kNotFound;
  if (error.kind == Kind::kSignature || error.kind == Kind::kSecurityOption) {
    code = Code::kForbidden;
  }
  if (error.kind == Kind::kUnsupported) code = Code::kUnprocessable;
  if (error.kind == Kind::kNoMemory) code = Code::kUnavailable;
  return error_response(form, code, url::to_string(error.kind), error.message, error.option);
}

EtagRecipe recipe_of(const ImageComputation& wanted, const ServiceSettings& settings, bool raw) {
  const std::string& buster = settings.etag_buster;
  std::string how;
  if (raw || wanted.as_it_is) {
    how = raw ? "-raw" : "-skip";
  } else if (wanted.options.codec != CodecKind::kAuto) {
    // Codecs make other bytes of the same options, and output_hash() leaves them out.
    how = fmt::format("-{}", to_string(wanted.options.codec));
  }
  return {fmt::format("{}{}{}-{}{}", buster, buster.empty() ? "" : "/", output_hash(wanted.options),
                      kVersion, how)};
}

bool is_jpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

}  // namespace

std::optional<Response> Images::interpret(Exchange& exchange, ImageComputation& wanted) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const ServiceSettings& settings = exchange.snapshot->settings;
  auto request =
      exchange.snapshot->grammar.parse(exchange.head.target, now, hints_of(exchange.head));
  if (!request) return refuse_url(exchange.error_form, request.error());
  ResizeOptions defaults = settings.defaults;
  if (!settings.metadata_given) defaults.metadata = url::service_defaults({}).metadata;
  const bool raw = request->raw.value_or(false);
  if (raw && !settings.allow_raw) {
    return error_response(exchange.error_form, Code::kForbidden, "forbidden_option",
                          "this server hands on no originals as they are", "raw");
  }
  wanted.options.limits = defaults.limits;  // of a raw original, too
  if (!raw) {
    request->options = url::with_defaults(std::move(request->options), defaults);
    auto options = url::to_resize_options(request->options, defaults);
    if (!options) return refuse_url(exchange.error_form, options.error());
    wanted.options = *options;
  }
  const bool skips = !raw && url::skips_processing(request->options);
  // An original tells more than its picture.
  if (skips && !settings.allow_raw) wanted.options = url::as_the_original_is(wanted.options);
  wanted.as_it_is = raw || (skips && settings.allow_raw);
  wanted.source_url = request->source_url;
  // The recipe is costly, and few that are refused need it.
  if (settings.etag && exchange.head.has("if-none-match")) {
    wanted.recipe = recipe_of(wanted, settings, raw);
    wanted.client_original = known_original(wanted.recipe, exchange.head.joined("if-none-match"));
  }
  exchange.image = std::move(*request);
  return std::nullopt;
}

std::optional<Response> Images::begin(const std::shared_ptr<Exchange>& exchange, IoThread& io,
                                      ClientKey client) {
  auto wanted = std::make_shared<ImageComputation>();
  if (auto refused = interpret(*exchange, *wanted)) return refused;
  wanted->snapshot = exchange->snapshot;
  const ServiceSettings& settings = exchange->snapshot->settings;
  const bool by_date = settings.last_modified && !exchange->head.has("if-none-match");
  const Text since = by_date ? exchange->head.get("if-modified-since") : Text();
  wanted->if_modified_since = since;
  wanted->canonical = url::canonical_text(exchange->image);
  // What shapes the bytes, what is asked of the origin, and what may be asked.
  wanted->key = fmt::format("{}\n{}\n{}\n{} {}\n{}", wanted->snapshot->generation,
                            wanted->source_url, wanted->canonical, wanted->client_original.etag,
                            wanted->client_original.url_hash, since);
  wanted->io = &io;
  wanted->begun = Clock::now();
  const auto verdict = join(wanted, exchange, io, client);
  if (!verdict) {
    io.shared().metrics.coalesced.add();
    return std::nullopt;
  }
  if (*verdict != ClientAdmission::Verdict::kAdmitted) {
    return refuse_admission(exchange->error_form, *verdict);
  }
  try {
    if (wanted->recipe.text.empty()) {
      wanted->recipe =
          recipe_of(*wanted, wanted->snapshot->settings, exchange->image.raw.value_or(false));
    }
    look_up(wanted);
  } catch (...) {
    fail_with(wanted, Code::kUnavailable, "busy", "memory ran out");
  }
  return std::nullopt;
}

// Joins an equal computation, or makes this one known if it is admitted: one that is refused is
// never joined.
// @return what admission says of a new one; nothing where an equal one is under way already
std::optional<ClientAdmission::Verdict> Images::join(const Computation& wanted,
                                                     const std::shared_ptr<Exchange>& exchange,
                                                     IoThread& io, ClientKey client) {
  Computation joined = wanted;
  std::optional<ClientAdmission::Verdict> verdict;
  Round round;  // that the picture has to be handed in for this client in
  {
    wanted->waiters.reserve(1);  // what is in the map has somebody who waits, come what may
    const std::lock_guard lock(mutex_);
    if (const auto found = computations_.find(wanted->key); found != computations_.end()) {
      joined = found->second;
      // Nobody waits longer since somebody else, who has much under way, has asked first.
      joined->asked_by.add(client.key);
      if (joined->round != nullptr && add_client(*joined->round, client)) round = joined->round;
    } else {
      verdict = io.shared().admission.admit(client, 0, 0, wanted->ticket);
      if (*verdict != ClientAdmission::Verdict::kAdmitted) return verdict;
      wanted->charged = client;
      wanted->asked_by.add(client.key);
      computations_.emplace(wanted->key, wanted);
    }
    joined->waiters.push_back({exchange, &io, client});
    ++joined->interested;
  }
  try {
    exchange->on_stop = std::make_unique<Exchange::OnStop>(
        exchange->stop.get_token(),
        [this, weak = std::weak_ptr<ImageComputation>(joined)] { leave(weak); });
  } catch (...) {
    // Nobody else begins what this request was to begin; it itself is answered by what catches
    // this.
    if (verdict) fail_with(joined, Code::kUnavailable, "busy", "memory ran out");
    if (!verdict) leave(joined);
    throw;
  }
  if (round != nullptr) {
    (void)joined->io->post([this, joined, round, client] { hand_in_for(joined, round, client); });
  }
  return verdict;
}

void Images::fetch(const Computation& computation) {
  source::FetchRequest request;
  request.url = computation->source_url;
  const bool ours = computation->revalidates;
  request.if_none_match = ours ? computation->record->etag : computation->client_original.etag;
  request.if_modified_since =
      ours ? computation->record->last_modified : computation->if_modified_since;
  if (computation->snapshot->cache != nullptr && !computation->as_it_is) {
    request.suffices = [this, computation](const source::Original& file) {
      return suffices(*computation, file);
    };
  }
  request.may_hold = [this, computation](std::size_t held_bytes, std::size_t arrived_bytes) {
    return may_hold(computation, held_bytes, arrived_bytes);
  };
  // Behind a proxy all clients are one.
  constexpr std::uint64_t kAll_percent = 100;
  if (computation->snapshot->settings.client_share_percent < kAll_percent) {
    request.client = source::AskedBy(computation, &computation->asked_by);
  }
  computation->fetching = true;
  request.max_bytes = static_cast<std::size_t>(computation->options.limits.max_input_bytes);
  request.stop = computation->stop.get_token();
  const auto begun = computation->snapshot->sources->fetch(
      std::move(request), [this, computation](source::Fetched<source::Original> got) {
        // On a thread of the sources'. Where no word can be passed on, the requests end with their
        // time; later ones begin anew.
        try {
          const auto passed = std::make_shared<source::Fetched<source::Original>>(std::move(got));
          const bool posted = computation->io->post(
              [this, computation, passed] { on_original(computation, std::move(*passed)); });
          if (!posted) forget(*computation);
        } catch (...) {
          forget(*computation);
        }
      });
  if (!begun) {
    computation->fetching = false;
    const FetchAnswer answer = fetch_answer(begun.error());
    fail_with(computation, answer.code, answer.word, answer.message, begun.error().message);
  }
}

void Images::on_original(const Computation& computation,
                         source::Fetched<source::Original> original) try {
  const ServiceSettings& settings = computation->snapshot->settings;
  ImageOutcome& outcome = computation->outcome;
  computation->fetched = Clock::now();
  computation->fetching = false;
  outcome.fetch_ms = ms_since(computation->begun);
  computation->io->shared().metrics.spent(RequestSpan::kFetch, outcome.fetch_ms / 1000);
  if (computation->refused) {  // it may have come all the same
    const Response told = refuse_admission(ErrorForm::kText, *computation->refused);
    fail_with(computation, told.code, "busy", told.message);
    return;
  }
  if (!original) {
    FetchAnswer answer = fetch_answer(original.error());
    // Whoever asks for the original itself gets the origin's own word.
    const bool raw = computation->recipe.text.ends_with("-raw");
    if (raw && original.error().origin_status >= 500 && original.error().origin_status < 600) {
      answer.code = static_cast<Code>(original.error().origin_status);
    }
    if (may_fall_back(original.error().kind) &&
        fall_back(computation, answer.code, original.error().message)) {
      return;
    }
    fail_with(computation, answer.code, answer.word, answer.message, original.error().message);
    return;
  }
  computation->original = std::move(*original);
  source::Original& got = computation->original;
  if (answer_from_cache(computation) || fetch_unconditionally(computation)) return;
  const KnownOriginal& known = computation->client_original;
  const std::string& tag = got.etag.empty() && got.not_modified ? known.etag : got.etag;
  const std::uint64_t url_hash = hash_of_url(got.url);
  if (settings.etag) outcome.etag = make_etag(computation->recipe, tag, url_hash);
  if (settings.last_modified) outcome.last_modified = got.last_modified;
  outcome.cache_control = got.cache_control;
  outcome.expires = got.expires;
  outcome.made_s = ::time(nullptr) - age_seconds(got.age);
  outcome.source_bytes = got.bytes.size();
  // An origin may send the same original again although it was told which one there is.
  const bool same = !known.etag.empty() && got.etag == known.etag && url_hash == known.url_hash;
  if (got.not_modified || same) {
    outcome.not_modified = true;
    answer_waiters(computation);
    return;
  }
  if (settings.debug_headers) measure(*computation);
  const std::uint64_t pixels =
      count_pixels_to_decode(got.bytes, computation->options.limits.max_input_pixels);
  auto verdict = ClientAdmission::Verdict::kAdmitted;
  {
    const std::lock_guard lock(computation->charging);
    verdict = charge(computation, got.bytes.size(), pixels);
  }
  if (verdict != ClientAdmission::Verdict::kAdmitted) {
    const Response refused = refuse_admission(ErrorForm::kText, verdict);
    fail_with(computation, refused.code, "busy", refused.message);
    return;
  }
  if (computation->as_it_is) {
    hand_on(computation);
    return;
  }
  if (got.bytes.empty()) {
    if (fall_back(computation, Code::kUnprocessable, "the original is empty")) return;
    fail_with(computation, Code::kUnprocessable, "invalid_input", "the original is empty");
    return;
  }
  hand_in(computation);
} catch (...) {
  fail_with(computation, Code::kUnavailable, "busy", "memory ran out");
}

// A 304 may speak of another original than the client has: where a redirect leads to another place
// by now, or its date is asked about, which does not say of which place it is.
// @return whether the original is fetched whatever the client has
bool Images::fetch_unconditionally(const Computation& computation) {
  const source::Original& got = computation->original;
  KnownOriginal& known = computation->client_original;
  if (!got.not_modified) return false;
  const bool same = known.etag.empty()
                        ? got.redirects == 0
                        : hash_of_url(got.url) == known.url_hash &&
                              (got.etag.empty() || none_match_lists(got.etag, known.etag));
  if (same) return false;
  known = {};
  computation->if_modified_since.clear();
  fetch(computation);
  return true;
}

// The size as it is seen, for debug headers.
void Images::measure(ImageComputation& computation) {
  const auto file = jpeg::parse(computation.original.bytes, computation.options.limits,
                                jpeg::ParseDepth::kThroughFirst);
  if (!file) return;
  // Orientations 5 to 8 turn by a quarter (CIPA DC-008, 4.6.4).
  const bool turned = file->orientation >= 5;
  computation.outcome.source_width_px = turned ? file->frame.height_px : file->frame.width_px;
  computation.outcome.source_height_px = turned ? file->frame.width_px : file->frame.height_px;
}

void Images::hand_on(const Computation& computation) {
  const source::Original& original = computation->original;
  ImageOutcome& outcome = computation->outcome;
  outcome.is_jpeg = is_jpeg(original.bytes);
  const bool raw = computation->recipe.text.ends_with("-raw");
  const std::uint64_t pixels = count_frame_pixels(original.bytes);
  const std::uint64_t bound = computation->options.limits.max_input_pixels;
  if (!raw && (!outcome.is_jpeg || pixels > bound)) {
    fail_with(computation, Code::kUnprocessable, outcome.is_jpeg ? "too_large" : "invalid_input",
              outcome.is_jpeg ? fmt::format("found {} pixels; accepted: at most {}", pixels, bound)
                              : "the original is no JPEG");
    return;
  }
  outcome.bytes = original.bytes;
  outcome.keeper = original.keeper;
  answer_waiters(computation);
}

void Images::on_picture(const Computation& computation, Result<Resized> result) try {
  ImageOutcome& outcome = computation->outcome;
  outcome.work_ms = ms_since(computation->fetched);
  // The original's memory is another's from now on.
  computation->original.bytes = {};
  computation->original.keeper.reset();
  if (!result) {
    const Response told = error_response(ErrorForm::kText, result.error());
    if (may_fall_back(result.error().code()) && fall_back(computation, told.code, told.message)) {
      return;
    }
    fail_with(computation, told.code, to_string(result.error().code()), told.message);
    return;
  }
  outcome.report = std::move(result->report);
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(std::move(result->bytes));
  outcome.bytes = *bytes;
  outcome.keeper = std::move(bytes);
  if (computation->falls_back) {
    outcome.etag.clear();
    outcome.last_modified.clear();
  } else {
    keep_answer(*computation);
  }
  answer_waiters(computation);
} catch (...) {
  fail_with(computation, Code::kUnavailable, "busy", "memory ran out");
}

void Images::fail_with(const Computation& computation, Code code, Text word, Text message,
                       Text log_line) {
  ImageOutcome& outcome = computation->outcome;
  try {
    outcome = {};
    outcome.code = code;
    outcome.word = word;
    outcome.message = message;
    outcome.log_line = log_line;
  } catch (...) {  // a status without words is better than none
    outcome.code = Code::kUnavailable;
  }
  answer_waiters(computation);
}

// From now on nothing changes: all who wait are answered, each on its own thread.
void Images::answer_waiters(const Computation& computation) noexcept {
  std::vector<ImageComputation::Waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(computation->answered, true)) return;
    waiters.swap(computation->waiters);
    const auto found = computations_.find(computation->key);
    if (found != computations_.end() && found->second == computation) computations_.erase(found);
  }
  {
    const std::lock_guard lock(computation->charging);
    computation->io->shared().admission.answered(computation->ticket,
                                                 computation->outcome.bytes.size());
  }
  // Clients that cannot be told from others come last: there is no share that bytes of theirs could
  // count in.
  std::ranges::stable_partition(waiters,
                                [](const auto& waiter) { return waiter.client != ClientKey{}; });
  for (const ImageComputation::Waiter& waiter : waiters) answer_one(computation, waiter);
}

// Where no word can be passed on, the request ends with its time. Never answered from here: the
// thread's own requests may be in the middle of beginning this.
void Images::answer_one(const Computation& computation,
                        const ImageComputation::Waiter& waiter) noexcept try {
  if (has_gone(waiter)) return;
  const auto recipient = std::make_shared<const AnswerRecipient>(computation, waiter.client);
  const auto deliver = [exchange = waiter.exchange, computation, recipient] {
    const auto connection = exchange->connection.lock();
    if (connection == nullptr || exchange->answered) return;
    try {
      Response response =
          image_response(*exchange, computation->outcome, computation->snapshot->settings);
      if (response.keeper != nullptr) {
        response.keeper = recipient;
        response.charge = Charge::kKeeper;
      }
      connection->answer(*exchange, std::move(response));
    } catch (...) {
      connection->fail(*exchange);
    }
  };
  (void)waiter.io->post(deliver);
} catch (...) {
}

void Images::forget(const ImageComputation& computation) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = computations_.find(computation.key);
  if (found != computations_.end() && found->second.get() == &computation) {
    computations_.erase(found);
  }
}

}  // namespace framewire::service::http
