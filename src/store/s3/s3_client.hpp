// Requests to one endpoint, waited for or not.
#pragma once

#include <memory>
#include <store/environment.hpp>
#include <store/object_store.hpp>
#include <store/s3/s3_request.hpp>

namespace framewire::store::s3 {

/// Thread safety: submit() and perform().
class S3Client {
 public:
  /// Finds credentials and starts threads.
  /// @param bucket  of calls without an address; empty: there are none
  /// @return as open_store()
  [[nodiscard]] static Result<std::unique_ptr<S3Client>> make(const std::string& bucket,
                                                              const StoreSettings& settings,
                                                              const StoreTiming& timing,
                                                              const EnvironmentLookup& environment);

  /// To a web server, without credentials. @param origin  as BucketAddress::make_web()
  [[nodiscard]] static Result<std::unique_ptr<S3Client>> make_web(const std::string& origin,
                                                                  const StoreSettings& settings,
                                                                  const StoreTiming& timing);

  /// Where another bucket is. @return invalid_input for one that has no place at the endpoint
  [[nodiscard]] Result<std::shared_ptr<const BucketAddress>> address_of(
      const std::string& bucket) const;

  /// Sends a request; call.done is called whatever happens, also before this returns.
  void submit(S3Call call);
  /// The same, where the caller has a lock that call.done wants: of a call without a body
  /// call.done is not called before this returns.
  /// @return false where memory ran out: the call is as it was, and is not sent
  [[nodiscard]] bool try_submit(S3Call& call);
  /// Waits for the last answer. call.done is set by this.
  [[nodiscard]] Result<S3Answer> perform(S3Call call);
  /// Gives up all that is under way. Nothing may be submitted from here on.
  void close() noexcept { loops_.reset(); }

 private:
  S3Client(const StoreTiming& timing, unsigned attempts) : context_{timing, attempts, nullptr, 0} {}

  [[nodiscard]] static Result<void> check(const StoreSettings& settings);
  [[nodiscard]] Result<void> start(const StoreSettings& settings);

  S3Context context_;
  std::string endpoint_;
  std::string region_;
  std::optional<bool> path_style_;
  std::shared_ptr<const BucketAddress> own_address_;
  std::unique_ptr<CredentialKeeper> credentials_;
  std::unique_ptr<HttpLoops> loops_;
};

/// As open_store(), with other times and another environment: for tests.
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_s3_store(
    const std::string& bucket, const StoreSettings& settings, const StoreTiming& timing,
    const EnvironmentLookup& environment);

}  // namespace framewire::store::s3
