// Credentials where the AWS tools find them, in their order.
#pragma once

#include <store/environment.hpp>
#include <store/object_store.hpp>
#include <store/s3/credential_keeper.hpp>
#include <string>

namespace framewire::store::s3 {

struct FoundCredentials {
  S3Credentials credentials;
  RenewCredentials renew;  ///< empty: nothing ends
};

/// The environment, a role by web identity, the shared files, the container's metadata, the
/// instance's; the shared files alone where the settings name a profile. The first that has any
/// decides: what it says wrongly is an error, not a reason to go on.
/// @param profile  of the shared files
/// @return denied where there are none, or who gives them refuses; unsupported, invalid_input as
/// SharedProfile; io_error and deadline of the network
[[nodiscard]] Result<FoundCredentials> find_credentials(const StoreSettings& settings,
                                                        const SharedProfile& profile,
                                                        const std::string& region,
                                                        const EnvironmentLookup& environment);

}  // namespace framewire::store::s3
