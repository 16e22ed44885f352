// Pictures by URL, where there is a cache: looked up before, and instead of, the work.
//
// A file is found and described before the cache is asked, so that its answer is never older than
// the file. Of an origin a record is kept: which original there was, and until when that counts.
// Until then nothing is asked; later the origin is asked whether that original is still the one.
#include <ctime>
#include <service/http/freshness.hpp>
#include <service/http/images.hpp>
#include <service/source/source_url.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr Text kHit = "framewire; hit";
constexpr Text kRevalidated = "framewire; fwd=stale; fwd-status=304";
constexpr Text kMiss = "framewire; fwd=uri-miss";

// Whether the client has the answer from this original.
bool client_has(const ImageComputation& wanted) {
  const SourceRecord& record = *wanted.record;
  const KnownOriginal& known = wanted.client_original;
  if (!known.etag.empty()) {
    return known.etag == record.etag && known.url_hash == hash_of_url(record.final_url);
  }
  // A date does not say where a redirect led by then.
  return !record.redirected && !wanted.if_modified_since.empty() &&
         wanted.if_modified_since == record.last_modified;
}

bool is_remote(const std::string& url) {
  const auto parsed = source::parse_source(url);
  return parsed && parsed->scheme != source::Scheme::kLocal;
}

}  // namespace

// Files are described first: suffices() looks them up.
void Images::look_up(const Computation& computation) {
  computation->remote = is_remote(computation->source_url);
  const AnswerCache* const cache = computation->snapshot->cache.get();
  if (cache == nullptr || computation->as_it_is || !computation->remote) {
    fetch(computation);
    return;
  }
  const bool asked = cache->run([this, computation] {
    read_cache(*computation);
    try {
      const bool posted = computation->io->post([this, computation] { on_looked_up(computation); });
      if (!posted) forget(*computation);
    } catch (...) {
      forget(*computation);
    }
  });
  if (!asked) fetch(computation);
}

// On a thread of the cache's, which alone has the computation meanwhile.
void Images::read_cache(ImageComputation& computation) noexcept {
  const AnswerCache& cache = *computation.snapshot->cache;
  computation.record = cache.find_source(computation);
  if (computation.record) {
    computation.cached = cache.find_answer(computation, *computation.record);
  }
}

void Images::on_looked_up(const Computation& computation) try {
  const auto& record = computation->record;
  if (!record) {
    fetch(computation);
    return;
  }
  const bool fresh = ::time(nullptr) < record->fresh_until_s;
  const bool has_it = client_has(*computation);
  if (fresh && (has_it || computation->cached)) {
    computation->fetched = std::chrono::steady_clock::now();
    if (has_it && !computation->cached) computation->cached.emplace();
    take_cached(*computation, kHit);
    computation->outcome.not_modified = has_it;
    answer_waiters(computation);
    return;
  }
  // Whatever the client has: the newest that is known is asked about, and is here.
  computation->revalidates = computation->cached.has_value();
  fetch(computation);
} catch (...) {
  fail_with(computation, Code::kUnavailable, "busy", "memory ran out");
}

// On a thread that reads files. @return whether the file need not be read
bool Images::suffices(ImageComputation& computation, const source::Original& file) noexcept try {
  const AnswerCache& cache = *computation.snapshot->cache;
  computation.record = cache.record_of(file, false);
  if (!computation.record) return false;
  computation.cached = cache.find_answer(computation, *computation.record);
  return computation.cached.has_value();
} catch (...) {
  return false;
}

// @return whether the cache had the answer, or the original is fetched again
bool Images::answer_from_cache(const Computation& computation) {
  const source::Original& got = computation->original;
  if (got.not_read) {
    take_cached(*computation, kHit);
    answer_waiters(computation);
    return true;
  }
  if (!computation->revalidates || !got.not_modified) return false;
  const SourceRecord& known = *computation->record;
  // Another original behind a redirect may have the same tag; and who answers with another tag than
  // was asked about speaks of something else.
  const bool same = got.url == known.final_url && (got.etag.empty() || got.etag == known.etag);
  if (!same) {
    computation->revalidates = false;
    computation->cached.reset();
    fetch(computation);
    return true;
  }
  const AnswerCache& cache = *computation->snapshot->cache;
  auto renewed = cache.record_of(got, true, &known);
  if (renewed) {
    // Written where it will save a question.
    if (renewed->fresh_until_s > ::time(nullptr)) cache.keep_source(*computation, *renewed);
    computation->record = std::move(renewed);
  } else {
    // The origin allows no cache any more what it allowed: this client has it from here last.
    cache.forget(*computation, known);
    computation->record = AnswerCache::word_of(got, &known);
  }
  take_cached(*computation, kRevalidated);
  computation->outcome.not_modified = client_has(*computation);
  answer_waiters(computation);
  return true;
}

// The outcome from here on is the cached one, with what is known of the original.
void Images::take_cached(ImageComputation& computation, Text status) {
  const SourceRecord& record = *computation.record;
  ImageOutcome outcome = std::move(*computation.cached);
  computation.cached.reset();
  const ServiceSettings& settings = computation.snapshot->settings;
  if (settings.etag) {
    outcome.etag = make_etag(computation.recipe, record.etag, hash_of_url(record.final_url));
  }
  if (settings.last_modified) outcome.last_modified = record.last_modified;
  outcome.cache_control = record.cache_control;
  outcome.expires = record.expires;
  outcome.made_s = record.made_s;
  outcome.from_cache = true;
  outcome.cache_status = status;
  outcome.fetch_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() -
                                                               computation.begun)
                         .count();
  computation.outcome = std::move(outcome);
  computation.io->shared().metrics.cache_hits.add();
}

void Images::keep_answer(ImageComputation& computation) noexcept try {
  const AnswerCache* const cache = computation.snapshot->cache.get();
  if (cache == nullptr) return;
  computation.outcome.cache_status = kMiss;
  computation.io->shared().metrics.cache_misses.add();
  const auto record = cache->record_of(computation.original, computation.remote);
  if (record) {
    cache->keep(computation, *record, computation.remote);
  } else if (computation.record) {
    cache->forget(computation, *computation.record);
  }
} catch (...) {  // it is made again, some time
}

}  // namespace framewire::service::http
