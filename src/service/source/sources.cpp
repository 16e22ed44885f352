#include <curl/curl.h>
#include <algorithm>
#include <service/source/allowed_sources.hpp>
#include <service/source/fetch_error.hpp>
#include <service/source/file_pool.hpp>
#include <service/source/object_fetcher.hpp>
#include <service/source/origin_loop.hpp>
#include <service/source/sources.hpp>

namespace framewire::service::source {
namespace {

tl::unexpected<Status> wrong(const char* setting, const char* accepted) {
  return fail(Status(StatusCode::kInvalidInput,
                     std::string("found a value out of range; accepted: ") + accepted)
                  .about(setting));
}

Result<void> check(const SourceSettings& settings) {
  constexpr std::chrono::milliseconds kMaxTime = std::chrono::hours(1);
  for (const auto time : {settings.dial_timeout, settings.tls_timeout, settings.download_timeout}) {
    if (time.count() < 1 || time > kMaxTime) return wrong("timeout", "1 ms to 1 h");
  }
  if (settings.max_bytes == 0) return wrong("max_bytes", "1 and more");
  if (settings.max_bytes_under_way < settings.max_bytes) {
    return wrong("max_bytes_under_way", "max_bytes and more");
  }
  if (settings.max_redirects > 20) return wrong("max_redirects", "0 to 20");
  for (const unsigned count : {settings.connections, settings.connections_per_origin}) {
    if (count == 0 || count > 65'536) return wrong("connections", "1 to 65536");
  }
  for (const unsigned count : {settings.file_threads, settings.resolver_threads}) {
    if (count == 0 || count > 256) return wrong("threads", "1 to 256");
  }
  if (settings.objects.in_flight == 0 || settings.objects.in_flight > 65'536) {
    return wrong("objects.in_flight", "1 to 65536");
  }
  if (settings.waiting > 1'000'000) return wrong("waiting", "0 to 1000000");
  const std::string& agent = settings.user_agent;
  const bool printable =
      std::all_of(agent.begin(), agent.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!printable || agent.size() > 256) {
    return wrong("user_agent", "up to 256 printable characters");
  }
  return {};
}

// Once for the process, whoever is first; never undone, since other code may use libcurl too.
bool init_libcurl() noexcept {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

}  // namespace

class Sources::Impl {
 public:
  Impl(SourceSettings&& settings, AllowedSources&& allowed, Network&& network)
      : settings_(std::move(settings)),
        allowed_(std::move(allowed)),
        network_(std::move(network)),
        budget_(settings_.max_bytes_under_way),
        loop_(settings_, allowed_, network_, budget_) {}

  Result<void> start() {
    if (!settings_.root.empty()) {
      auto root = FileRoot::open(settings_.root);
      if (!root) return fail(root.error());
      files_ = std::make_unique<FilePool>(settings_, budget_, std::move(*root));
      if (!files_->start(settings_.file_threads)) {
        return fail(StatusCode::kBusy, "no thread started");
      }
    }
    if (settings_.objects.on) {
      auto objects = ObjectFetcher::make(settings_, network_, budget_);
      if (!objects) return fail(std::move(objects.error()));
      objects_ = *std::move(objects);
    }
    if (!loop_.start()) return fail(StatusCode::kBusy, "no thread started");
    return {};
  }

  Fetched<void> fetch(FetchRequest&& request, FetchDone&& done) noexcept {
    try {
      FetchJob job = prepare(std::move(request), std::move(done));
      if (!job.verdict && job.url.scheme == Scheme::kS3) {
        auto begun = objects_->submit(job);
        if (begun || begun.error().kind == FetchErrorKind::kBusy) return begun;
        job.verdict = std::move(begun.error());
      }
      const bool file = !job.verdict && job.url.scheme == Scheme::kLocal;
      if (file ? files_->submit(job) : loop_.submit(job)) return {};
    } catch (...) {
    }
    return fail_fetch(FetchErrorKind::kBusy, "too many fetches wait");
  }

 private:
  FetchJob prepare(FetchRequest&& request, FetchDone&& done) const {
    FetchJob job;
    job.max_bytes = settings_.max_bytes;
    if (request.max_bytes != 0) job.max_bytes = std::min(job.max_bytes, request.max_bytes);
    auto time = settings_.download_timeout;
    if (request.timeout.count() > 0) time = std::min(time, request.timeout);
    job.deadline = base::Clock::now() + time;
    if (auto url = parse_source(request.url, settings_.objects.version_separator)) {
      job.verdict = judge(*url);
      job.url = std::move(*url);
    } else {
      job.verdict = std::move(url.error());
      // Without a root a bare word is no path: it has no scheme that is known.
      if (!files_ && job.verdict->kind == FetchErrorKind::kNotFound) {
        job.verdict->kind = FetchErrorKind::kSchemeNotAllowed;
      }
    }
    job.request = std::move(request);
    job.done = std::move(done);
    return job;
  }

  std::optional<FetchError> judge(const SourceUrl& url) const {
    if (!is_on(url.scheme)) {
      return fetch_error(FetchErrorKind::kSchemeNotAllowed, "switched off: " + url.text());
    }
    if (url.scheme == Scheme::kS3 && !permits_bucket(settings_.objects, url.host)) {
      return fetch_error(FetchErrorKind::kSourceNotAllowed, "no allowed bucket: " + url.text());
    }
    if (!allowed_.allows(url)) {
      return fetch_error(FetchErrorKind::kSourceNotAllowed, "no allowed source: " + url.text());
    }
    return std::nullopt;
  }

  bool is_on(Scheme scheme) const noexcept {
    if (scheme == Scheme::kLocal) return files_ != nullptr;
    return scheme == Scheme::kS3 ? objects_ != nullptr : settings_.remote;
  }

  const SourceSettings settings_;
  const AllowedSources allowed_;
  const Network network_;
  Budget budget_;
  std::unique_ptr<FilePool> files_;
  std::unique_ptr<ObjectFetcher> objects_;
  OriginLoop loop_;
};

Result<Sources> Sources::make(SourceSettings settings) {
  return make(std::move(settings), Network{});
}

Result<Sources> Sources::make(SourceSettings settings, Network network) {
  try {
    if (auto checked = check(settings); !checked) return fail(checked.error());
    auto allowed = AllowedSources::parse(settings.allowed_sources);
    if (!allowed) return fail(allowed.error());
    if (!init_libcurl()) return fail(StatusCode::kBusy, "libcurl did not start");
    auto impl =
        std::make_unique<Impl>(std::move(settings), std::move(*allowed), std::move(network));
    if (auto started = impl->start(); !started) return fail(started.error());
    return Sources(std::move(impl));
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  }
}

Sources::Sources(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Sources::~Sources() = default;
Sources::Sources(Sources&&) noexcept = default;
Sources& Sources::operator=(Sources&&) noexcept = default;
void Sources::close() noexcept { impl_.reset(); }

Fetched<void> Sources::fetch(FetchRequest request, FetchDone done) {
  return impl_->fetch(std::move(request), std::move(done));
}

}  // namespace framewire::service::source
