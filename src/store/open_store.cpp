#include <fmt/format.h>
#include <store/object_reader.hpp>
#include <utility>

namespace framewire::store {

#ifndef FRAMEWIRE_OBJECT_STORES
namespace {

tl::unexpected<Status> no_stores(const std::string& bucket) {
  return fail(Status(StatusCode::kUnsupported,
                     "this build has no object stores; configure it with -DFRAMEWIRE_SERVICE=ON, "
                     "for which it needs libcurl")
                  .about(is_web_url(bucket) ? bucket : "s3://" + bucket));
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

Result<std::optional<WholeObject>> ObjectStore::read_whole(const std::string& key,
                                                           std::uint64_t max_bytes) {
  auto object = find(key);
  if (!object) return fail(object.error());
  if (!*object) return std::nullopt;
  if ((*object)->bytes > max_bytes) {
    return fail(Status(StatusCode::kTooLarge,
                       fmt::format("has {} bytes; accepted: up to {}", (*object)->bytes, max_bytes))
                    .about(label(key)));
  }
  WholeObject whole{std::move(**object), {}};
  whole.bytes.resize(static_cast<std::size_t>(whole.info.bytes));
  const auto got = read_at(whole.info, 0, whole.bytes);
  if (!got) return fail(got.error());
  if (*got == whole.bytes.size()) return whole;
  return fail(Status(StatusCode::kIoError, "the store gave fewer bytes than the object has")
                  .about(label(key)));
}

}  // namespace framewire::store
