#include <store/object_reader.hpp>

namespace framewire::store {

#ifndef FRAMEWIRE_OBJECT_STORES
namespace {

tl::unexpected<Status> no_stores(const std::string& bucket) {
  return fail(Status(StatusCode::kUnsupported,
                     "this build has no object stores; configure it with -DFRAMEWIRE_SERVICE=ON, "
                     "for which it needs libcurl")
                  .about("s3://" + bucket));
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> open_store(const std::string& bucket, const StoreSettings&) {
  return no_stores(bucket);
}

Result<std::unique_ptr<ObjectReader>> open_reader(const StoreSettings&, const StoreTiming&,
                                                  const EnvironmentLookup&) {
  return no_stores("");
}
#endif

}  // namespace framewire::store
