// Requests to one bucket, waited for or not.
#pragma once

#include <memory>
#include <store/environment.hpp>
#include <store/object_store.hpp>
#include <store/s3/s3_request.hpp>

namespace framewire::store::s3 {

/// Thread safety: submit() and perform().
class S3Client {
 public:
  /// Finds credentials and starts threads. @return as open_store()
  [[nodiscard]] static Result<std::unique_ptr<S3Client>> make(const std::string& bucket,
                                                              const StoreSettings& settings,
                                                              const StoreTiming& timing,
                                                              const EnvironmentLookup& environment);

  /// Sends a request; call.done is called whatever happens.
  void submit(S3Call call);
  /// Waits for the last answer. call.done is set by this.
  [[nodiscard]] Result<S3Answer> perform(S3Call call);
  /// Gives up all that is under way. Nothing may be submitted from here on.
  void close() noexcept { loops_.reset(); }

 private:
  S3Client(BucketAddress address, const StoreTiming& timing, unsigned attempts)
      : context_{std::move(address), timing, attempts, nullptr, 0} {}

  S3Context context_;
  std::unique_ptr<CredentialKeeper> credentials_;
  std::unique_ptr<HttpLoops> loops_;
};

/// As open_store(), with other times and another environment: for tests.
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_s3_store(
    const std::string& bucket, const StoreSettings& settings, const StoreTiming& timing,
    const EnvironmentLookup& environment);

}  // namespace framewire::store::s3
