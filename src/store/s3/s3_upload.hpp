// An object in parts.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <store/s3/s3_store.hpp>
#include <vector>

namespace framewire::store::s3 {

/// Multipart upload; one PUT where there is less than a part. Memory: parts_in_flight + 1 parts.
class S3Upload final : public ObjectUpload {
 public:
  S3Upload(std::shared_ptr<S3Store> store, std::string key, unsigned parts_in_flight);
  ~S3Upload() override;

  void mark(std::string text) override { mark_ = std::move(text); }
  [[nodiscard]] Result<void> append(std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] Result<PutOutcome> complete(PutCondition condition) override {
    return complete_if(headers_of(condition));
  }
  [[nodiscard]] Result<PutOutcome> replace(const std::string& etag) override {
    return complete_if(if_same(etag));
  }
  [[nodiscard]] std::string etag() const override { return etag_; }

 private:
  using PartBytes = std::vector<std::uint8_t>;

  [[nodiscard]] Result<void> begin();
  /// Waits for a place, then sends what was collected as the next part.
  [[nodiscard]] Result<void> send_part();
  /// Counts the part as ended, whatever came of it.
  void part_ended(unsigned number, Result<S3Answer> answer) noexcept;
  /// @return what is wrong, about the object
  [[nodiscard]] Result<std::string> etag_of_part(const Result<S3Answer>& answer) const noexcept;
  [[nodiscard]] Result<void> wait_for_parts(unsigned left);
  /// @param condition  as S3Store::put() has it
  [[nodiscard]] Result<PutOutcome> complete_if(const TextPairs& condition);
  [[nodiscard]] Result<PutOutcome> complete_parts(const TextPairs& condition);
  void abandon() noexcept;

  const std::shared_ptr<S3Store> store_;
  const std::string key_;
  const unsigned parts_in_flight_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  std::string write_id_;
  std::string mark_;
  std::string upload_id_;  ///< empty: nothing was begun, or all is done
  std::string etag_;       ///< of the object, once it is known
  PartBytes collected_;
  unsigned parts_ = 0;  ///< that were sent

  std::mutex mutex_;
  std::condition_variable part_done_;
  unsigned in_flight_ = 0;          ///< under mutex_
  std::vector<std::string> etags_;  ///< by part, under mutex_
  std::optional<Status> failure_;   ///< of the first part that failed, under mutex_
};

}  // namespace framewire::store::s3
