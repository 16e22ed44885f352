// Files of a web server, as a store that can only be read.
#pragma once

#include <store/s3/s3_store.hpp>
#include <unordered_map>

namespace framewire::store::s3 {

/// One server. Keys are what follows "https://HOST/" in a URL, as it is written there, query
/// included; labels leave the query out, since it may hold a signature. No request is signed.
/// Redirects are followed (web_place.hpp); ranges of a file go to where the last one led. Writing
/// and listing are unsupported.
class WebStore final : public S3Store {
 public:
  WebStore(std::string origin, const StoreSettings& settings, std::unique_ptr<S3Client> client);
  ~WebStore() override { close(); }

  [[nodiscard]] std::string label(std::string_view key) const override;
  /// Asks by HEAD, and where a server refuses that, for one byte.
  [[nodiscard]] Result<std::optional<ObjectInfo>> find(const std::string& key) override;
  /// In one request, of a server without ranges too.
  [[nodiscard]] Result<std::optional<WholeObject>> read_whole(const std::string& key,
                                                              std::uint64_t max_bytes) override;
  [[nodiscard]] Result<void> list(const std::string& prefix, const std::string& after,
                                  const std::function<bool(const ObjectInfo&)>& take) override;
  [[nodiscard]] Result<PutOutcome> put(const std::string& key, std::span<const std::uint8_t> bytes,
                                       PutCondition condition) override;
  [[nodiscard]] Result<PutOutcome> replace(const ObjectInfo& seen,
                                           std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] Result<std::unique_ptr<ObjectUpload>> upload(const std::string& key) override;
  [[nodiscard]] Result<void> remove(const std::string& key) override;

 private:
  [[nodiscard]] Result<std::optional<ObjectInfo>> find_by_range(const std::string& key);
  [[nodiscard]] tl::unexpected<Status> read_only(const std::string& key) const;
  [[nodiscard]] Status explain(const S3Answer& answer) const override;
  [[nodiscard]] std::shared_ptr<const WebPlace> place_of(const std::string& key) override;
  void keep_place(const std::string& key, const S3Answer& answer) override;

  const std::string origin_;
  std::mutex places_mutex_;
  /// Under places_mutex_; of the files that were found last, or read in ranges.
  std::unordered_map<std::string, std::shared_ptr<const WebPlace>> places_;
};

/// @return invalid_input for what is no "http://HOST" or "https://HOST", with a port or without
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_web_store(const std::string& origin,
                                                                  const StoreSettings& settings,
                                                                  const StoreTiming& timing);

}  // namespace framewire::store::s3
