// Where a bucket is: from settings to the host and the paths of its objects.
#pragma once

#include <framewire/status.hpp>
#include <store/object_store.hpp>
#include <string>
#include <string_view>

namespace framewire::store {

/// Whether settings can be what they are for, before they are used. @return invalid_input about
/// what is none; of an endpoint nothing that may be a password
[[nodiscard]] Result<void> check_endpoint(std::string_view endpoint);
[[nodiscard]] Result<void> check_region(std::string_view region);

/// The address of one bucket. Thread safety: const.
class BucketAddress {
 public:
  /// @param endpoint  "http://127.0.0.1:9000", with a path where the service lies below one; empty:
  ///                  AWS's own for the region
  /// @return invalid_input for an endpoint that is no such URL, a region or bucket that cannot
  /// stand in one
  [[nodiscard]] static Result<BucketAddress> make(const std::string& bucket,
                                                  const std::string& endpoint,
                                                  const std::string& region,
                                                  std::optional<bool> path_style);

  /// A web server: keys are paths as they are written.
  /// @param origin  "https://HOST:8443"
  /// @return invalid_input for what is no such
  [[nodiscard]] static Result<BucketAddress> make_web(const std::string& origin);

  /// The value of the header Host, as HTTP clients write it: without the scheme's own port.
  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  /// "/bucket/a%20key", or "/a%20key" where the bucket is part of the host.
  [[nodiscard]] std::string path(std::string_view key) const;
  /// "https://host".
  [[nodiscard]] std::string origin() const { return scheme_ + "://" + host_; }
  [[nodiscard]] const std::string& region() const noexcept { return region_; }

 private:
  std::string scheme_;
  std::string host_;
  std::string base_;  ///< without '/' at its end
  std::string region_;
  bool web_ = false;
};

}  // namespace framewire::store
