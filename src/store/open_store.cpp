#include <store/object_store.hpp>

namespace framewire::store {

#ifndef FRAMEWIRE_OBJECT_STORES
Result<std::shared_ptr<ObjectStore>> open_store(const std::string& bucket, const StoreSettings&) {
  return fail(Status(StatusCode::kUnsupported,
                     "this build has no object stores; configure it with -DFRAMEWIRE_SERVICE=ON, "
                     "for which it needs libcurl")
                  .about("s3://" + bucket));
}
#endif

}  // namespace framewire::store
