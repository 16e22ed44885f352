#include <algorithm>
#include <base/ascii.hpp>
#include <base/cores.hpp>
#include <future>
#include <store/digest.hpp>
#include <store/s3/find_credentials.hpp>
#include <store/s3/s3_client.hpp>

namespace framewire::store::s3 {
namespace {

// SHA-256 of nothing.
constexpr std::string_view kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string first_of(const std::string& setting, std::initializer_list<const char*> variables,
                     const EnvironmentLookup& environment, const std::optional<std::string>& stored,
                     std::string_view otherwise) {
  if (!setting.empty()) return setting;
  for (const char* const variable : variables) {
    if (auto value = environment(variable)) return *value;
  }
  return stored.value_or(std::string(otherwise));
}

// One loop takes about 2 GB/s; more of them than a quarter of the cores would be in the way.
unsigned loop_count() { return std::clamp(base::usable_cores() / 4, 2U, 8U); }

}  // namespace

Result<void> S3Client::check(const StoreSettings& settings) {
  if (settings.reads_in_flight == 0 || settings.parts_in_flight == 0 || settings.attempts == 0) {
    return fail(StatusCode::kInvalidInput,
                "a store with no reads or parts in flight, or no attempts; accepted: 1 or more");
  }
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!ready) return fail(StatusCode::kInternal, "libcurl does not start");
  return {};
}

Result<void> S3Client::start(const StoreSettings& settings) {
  loops_ = std::make_unique<HttpLoops>();
  return loops_->start(loop_count(), settings.reads_in_flight * 2);
}

Result<std::unique_ptr<S3Client>> S3Client::make_web(const std::string& origin,
                                                     const StoreSettings& settings,
                                                     const StoreTiming& timing) {
  if (auto good = check(settings); !good) return fail(std::move(good.error()));
  auto address = BucketAddress::make_web(origin);
  if (!address) return fail(std::move(address.error()));
  std::unique_ptr<S3Client> client(new S3Client(timing, settings.attempts));
  client->own_address_ = std::make_shared<const BucketAddress>(*std::move(address));
  if (auto started = client->start(settings); !started) return fail(std::move(started.error()));
  return client;
}

Result<std::unique_ptr<S3Client>> S3Client::make(const std::string& bucket,
                                                 const StoreSettings& settings,
                                                 const StoreTiming& timing,
                                                 const EnvironmentLookup& environment) {
  if (auto good = check(settings); !good) return fail(std::move(good.error()));
  auto profile = SharedProfile::load(settings.profile, environment);
  if (!profile) return fail(std::move(profile.error()));
  std::unique_ptr<S3Client> client(new S3Client(timing, settings.attempts));
  client->region_ = first_of(settings.region, {"AWS_REGION", "AWS_DEFAULT_REGION"}, environment,
                             profile->value("region"), "us-east-1");
  client->endpoint_ = first_of(settings.endpoint, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"},
                               environment, profile->value("endpoint_url"), "");
  client->path_style_ = settings.path_style;
  // Endpoint and region are checked before anybody is asked for credentials, by a name that any
  // store has a place for.
  auto address = client->address_of(bucket.empty() ? "bucket" : bucket);
  if (!address) return fail(std::move(address.error()));
  if (!bucket.empty()) client->own_address_ = *std::move(address);
  auto found = find_credentials(settings, *profile, client->region_, environment);
  if (!found) return fail(std::move(found.error()));
  client->credentials_ = std::make_unique<CredentialKeeper>(
      std::move(found->credentials), std::move(found->renew), CredentialKeeper::Times{});
  if (auto renewing = client->credentials_->start(); !renewing) {
    return fail(std::move(renewing.error()));
  }
  client->context_.credentials = client->credentials_.get();
  if (auto started = client->start(settings); !started) return fail(std::move(started.error()));
  return client;
}

Result<std::shared_ptr<const BucketAddress>> S3Client::address_of(const std::string& bucket) const {
  auto address = BucketAddress::make(bucket, endpoint_, region_, path_style_);
  if (!address) return fail(std::move(address.error()));
  return std::make_shared<const BucketAddress>(*std::move(address));
}

void S3Client::submit(S3Call call) {
  if (!try_submit(call)) call.done(fail(StatusCode::kBusy, "memory ran out"));
}

bool S3Client::try_submit(S3Call& call) try {
  if (!call.address) call.address = own_address_;
  std::string hash(kEmptyHash);
  if (!call.body.empty()) {
    const auto digest = sha256(call.body);
    if (!digest) {
      call.done(fail(digest.error()));
      return true;
    }
    hash = base::to_hex(*digest);
  }
  // Where there is no memory for the request the call has not been moved yet.
  auto request = std::make_unique<S3Request>(context_, std::move(call), std::move(hash));
  S3Request& made = *request;
  std::unique_ptr<HttpTask> task = std::move(request);
  try {
    loops_->submit(std::move(task));
  } catch (const std::exception&) {
    call = made.take_call();
    return false;
  }
  return true;
} catch (const std::exception&) {
  return false;
}

Result<S3Answer> S3Client::perform(S3Call call) {
  // Shared, since it is told by a thread that goes on for a moment.
  const auto promise = std::make_shared<std::promise<Result<S3Answer>>>();
  auto answer = promise->get_future();
  call.done = [promise](Result<S3Answer> result) { promise->set_value(std::move(result)); };
  submit(std::move(call));
  return answer.get();
}

}  // namespace framewire::store::s3
