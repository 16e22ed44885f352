#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ctime>
#include <service/http/answer_cache.hpp>
#include <service/http/freshness.hpp>
#include <service/http/images.hpp>
#include <service/http/report_fields.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

// A date tells two originals apart only if both lie further back (RFC 9110, 8.8.2.2).
constexpr std::int64_t kDateCounts_s = 60;
constexpr auto kMaxCodec = static_cast<std::uint64_t>(CodecKind::kNvjpeg);
constexpr std::uint64_t kMaxSide_px = 1u << 20;
constexpr Text kSourceWord = "source";
constexpr Text kAnswerWord = "answer";

// Settings under which a name means another object, or none.
std::string object_policy_of(const source::ObjectSettings& objects) {
  if (!objects.on) return {};
  return fmt::format("\ns3 {}\n{}\n{}\n{}\n{}\n{}", objects.version_separator,
                     objects.store.endpoint, objects.store.region, objects.store.profile,
                     fmt::join(objects.allowed_buckets, ","),
                     fmt::join(objects.denied_buckets, ","));
}

// Settings under which another original, or none, would be answered with.
std::string policy_of(const ServiceSettings& settings) {
  const source::SourceSettings& from = settings.source;
  const Limits& limits = settings.defaults.limits;
  return fmt::format("{}\n{}\n{}\n{} {} {} {}\n{} {} {} {} {} {}", from.root, from.remote,
                     fmt::join(from.allowed_sources, ","), from.addresses.allow_loopback,
                     from.addresses.allow_link_local, from.addresses.allow_private,
                     from.max_redirects, limits.max_input_bytes, limits.max_input_pixels,
                     limits.max_scans, limits.max_scan_pixels, limits.max_output_side_px,
                     limits.max_output_pixels) +
         object_policy_of(from.objects) + (settings.debug_headers ? "\ndebug" : "");
}

bool date_counts(const std::string& date, std::int64_t now_s) {
  const std::int64_t date_s = parse_http_date(date);
  return date_s >= 0 && date_s <= now_s - kDateCounts_s;
}

bool is_side(std::uint64_t value) noexcept { return value <= kMaxSide_px; }

}  // namespace

std::string to_bytes(const SourceRecord& record) {
  cache::FieldWriter fields;
  for (const std::string* text : {&record.final_url, &record.etag, &record.last_modified,
                                  &record.cache_control, &record.expires, &record.vary}) {
    fields.put(Text(*text));
  }
  fields.put(static_cast<std::uint64_t>(record.redirected ? 1 : 0));
  fields.put(static_cast<std::uint64_t>(record.fresh_until_s));
  fields.put(static_cast<std::uint64_t>(record.made_s));
  return std::move(fields).take();
}

std::optional<SourceRecord> read_source_record(std::span<const std::uint8_t> bytes) {
  cache::FieldReader fields(bytes);
  SourceRecord record;
  for (std::string* text : {&record.final_url, &record.etag, &record.last_modified,
                            &record.cache_control, &record.expires, &record.vary}) {
    *text = fields.text();
  }
  record.redirected = fields.number() != 0;
  record.fresh_until_s = static_cast<std::int64_t>(fields.number());
  record.made_s = static_cast<std::int64_t>(fields.number());
  if (!fields.ended()) return std::nullopt;
  return record;
}

std::string describe_answer(const ImageOutcome& outcome) {
  cache::FieldWriter fields;
  const Report report = outcome.report.value_or(Report{});
  fields.put(static_cast<std::uint64_t>(report.codec));
  fields.put(Text(report.codec_reason));
  fields.put(static_cast<std::uint64_t>(report.output.width_px));
  fields.put(static_cast<std::uint64_t>(report.output.height_px));
  fields.put(outcome.source_bytes);
  fields.put(static_cast<std::uint64_t>(outcome.source_width_px));
  fields.put(static_cast<std::uint64_t>(outcome.source_height_px));
  fields.put(warning_bits(report.warnings));
  return std::move(fields).take();
}

bool read_answer(std::span<const std::uint8_t> bytes, ImageOutcome& outcome) {
  cache::FieldReader fields(bytes);
  const std::uint64_t codec = fields.number();
  const Text reason = fields.text();
  const std::uint64_t width = fields.number();
  const std::uint64_t height = fields.number();
  outcome.source_bytes = fields.number();
  const std::uint64_t source_width = fields.number();
  const std::uint64_t source_height = fields.number();
  const std::uint64_t warnings = fields.number();
  if (!fields.ended() || !are_warning_bits(warnings) || codec > kMaxCodec || !is_side(width) ||
      !is_side(height) || !is_side(source_width) || !is_side(source_height)) {
    return false;
  }
  Report& report = outcome.report.emplace();
  report.codec = static_cast<CodecKind>(codec);
  report.codec_reason = reason;
  report.warnings = warnings_of_bits(warnings);
  report.output.width_px = static_cast<std::int32_t>(width);
  report.output.height_px = static_cast<std::int32_t>(height);
  outcome.source_width_px = static_cast<std::int32_t>(source_width);
  outcome.source_height_px = static_cast<std::int32_t>(source_height);
  return true;
}

cache::CacheSettings cache_settings(const ServiceSettings& settings) {
  cache::CacheSettings made;
  made.folder = settings.cache_dir;
  made.max_bytes = settings.cache_bytes;
  made.max_entries = settings.cache_entries;
  made.max_age_s = static_cast<std::int64_t>(settings.cache_age_s);
  made.max_read_bytes = settings.bytes_under_way;
  return made;
}

AnswerCache::AnswerCache(const ServiceSettings& settings, cache::DiskCache& disk)
    : max_age_s_(static_cast<std::int64_t>(settings.cache_age_s)),
      unsaid_s_(static_cast<std::int64_t>(settings.cache_fresh_s)),
      policy_(policy_of(settings)),
      disk_(disk) {}

std::optional<cache::Key> AnswerCache::source_key(const ImageComputation& wanted) const {
  const Text parts[] = {kSourceWord, policy_, wanted.source_url};
  return cache::make_key(parts);
}

std::optional<cache::Key> AnswerCache::answer_key(const ImageComputation& wanted,
                                                  const SourceRecord& original) const {
  // A date counts only where there is no tag: a file's date is no older than its tag.
  const Text date = original.etag.empty() ? Text(original.last_modified) : Text();
  const Text parts[] = {kAnswerWord,   policy_, wanted.source_url,  original.final_url,
                        original.etag, date,    wanted.recipe.text, wanted.canonical};
  return cache::make_key(parts);
}

std::optional<SourceRecord> AnswerCache::find_source(const ImageComputation& wanted) const noexcept
    try {
  const auto key = source_key(wanted);
  const auto found = key ? disk_.find(*key) : std::nullopt;
  return found ? read_source_record(found->head) : std::nullopt;
} catch (...) {
  return std::nullopt;
}

std::optional<ImageOutcome> AnswerCache::find_answer(const ImageComputation& wanted,
                                                     const SourceRecord& original) const noexcept
    try {
  const auto key = answer_key(wanted, original);
  const auto found = key ? disk_.find(*key) : std::nullopt;
  ImageOutcome outcome;
  if (!found || !read_answer(found->head, outcome)) return std::nullopt;
  outcome.bytes = found->body;
  outcome.keeper = found->keeper;
  return outcome;
} catch (...) {
  return std::nullopt;
}

SourceRecord AnswerCache::word_of(const source::Original& original, const SourceRecord* before) {
  SourceRecord record = before != nullptr ? *before : SourceRecord{};
  record.final_url = original.url;
  record.redirected = original.redirects > 0;
  record.made_s = ::time(nullptr) - age_seconds(original.age);
  for (const auto& [to, from] :
       {std::pair(&record.etag, &original.etag),
        std::pair(&record.last_modified, &original.last_modified),
        std::pair(&record.cache_control, &original.cache_control),
        std::pair(&record.expires, &original.expires), std::pair(&record.vary, &original.vary)}) {
    if (!from->empty()) *to = *from;
  }
  return record;
}

std::optional<SourceRecord> AnswerCache::record_of(const source::Original& original, bool remote,
                                                   const SourceRecord* before) const {
  const std::int64_t now_s = ::time(nullptr);
  SourceRecord record = word_of(original, before);
  const Freshness freshness =
      freshness_of({record.cache_control, record.expires, original.age, record.vary}, now_s,
                   unsaid_s_, max_age_s_);
  if (!freshness.storable) return std::nullopt;
  const bool dated = remote && date_counts(record.last_modified, now_s);
  if (record.etag.empty() && !dated) return std::nullopt;
  // Where a redirect leads may change at any time.
  record.fresh_until_s = original.redirects == 0 ? now_s + freshness.fresh_s : 0;
  return record;
}

void AnswerCache::keep(const ImageComputation& made, const SourceRecord& original,
                       bool remote) const noexcept {
  if (remote) keep_source(made, original);
  try {
    const auto key = answer_key(made, original);
    if (!key) return;
    disk_.keep({*key, describe_answer(made.outcome), made.outcome.bytes, made.outcome.keeper});
  } catch (...) {  // it is made again, some time
  }
}

void AnswerCache::keep_source(const ImageComputation& made,
                              const SourceRecord& original) const noexcept {
  try {
    if (const auto key = source_key(made)) disk_.keep({*key, to_bytes(original), {}, nullptr});
  } catch (...) {  // the original is fetched again, some time
  }
}

void AnswerCache::forget(const ImageComputation& made,
                         const SourceRecord& original) const noexcept {
  try {
    if (const auto key = source_key(made)) disk_.forget(*key);
    if (const auto key = answer_key(made, original)) disk_.forget(*key);
  } catch (...) {  // the origin is asked again before each use
  }
}

}  // namespace framewire::service::http
