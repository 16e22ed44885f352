// ObjectStore over S3's protocol.
#pragma once

#include <deque>
#include <mutex>
#include <store/s3/s3_client.hpp>

namespace framewire::store::s3 {

class S3Store : public ObjectStore, public std::enable_shared_from_this<S3Store> {
 public:
  S3Store(std::string bucket, const StoreSettings& settings, std::unique_ptr<S3Client> client);
  ~S3Store() override;

  [[nodiscard]] std::string label(std::string_view key) const override;
  [[nodiscard]] Result<std::optional<ObjectInfo>> find(const std::string& key) override;
  [[nodiscard]] Result<void> list(const std::string& prefix, const std::string& after,
                                  const std::function<bool(const ObjectInfo&)>& take) override;
  [[nodiscard]] Result<std::size_t> read_at(const ObjectInfo& object, std::uint64_t offset,
                                            std::span<std::uint8_t> into) override;
  void start_read(const ObjectInfo& object, std::uint64_t offset, std::span<std::uint8_t> into,
                  Done done) override;
  [[nodiscard]] Result<PutOutcome> put(const std::string& key, std::span<const std::uint8_t> bytes,
                                       PutCondition condition) override;
  [[nodiscard]] Result<PutOutcome> replace(const ObjectInfo& seen,
                                           std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] Result<std::unique_ptr<ObjectUpload>> upload(const std::string& key) override;
  [[nodiscard]] Result<void> remove(const std::string& key) override;

  /// put() and replace(), which also tell the ETag of what was stored.
  /// @param condition  as if_absent() and if_same() have it; empty: none
  /// @param mark       as ObjectUpload::mark()
  /// @param etag       empty where the server gave none, or where its answer was lost
  [[nodiscard]] Result<PutOutcome> put(const std::string& key, std::span<const std::uint8_t> bytes,
                                       const TextPairs& condition, const std::string& mark,
                                       std::string& etag);
  /// For uploads.
  [[nodiscard]] S3Client& client() noexcept { return *client_; }
  /// The same error, about an object.
  [[nodiscard]] tl::unexpected<Status> failed(std::string_view key, const Status& why) const;
  /// Whether an object is there that the write of that id made: whose answer was lost, or who was
  /// told that somebody was first.
  [[nodiscard]] Result<bool> is_own_write(const std::string& key, const std::string& write_id);

 protected:
  /// What an answer that refuses means.
  [[nodiscard]] virtual Status explain(const S3Answer& answer) const { return refusal(answer); }
  /// Where reads of a range begin, and where they have ended. Any thread.
  [[nodiscard]] virtual std::shared_ptr<const WebPlace> place_of(const std::string&) {
    return nullptr;
  }
  virtual void keep_place(const std::string&, const S3Answer&) {}
  /// Ends what is under way. For destructors: afterwards nobody calls this.
  void close() noexcept;

 private:
  [[nodiscard]] Result<ListingPage> list_page(const std::string& prefix, const std::string& after,
                                              const std::string& token);
  void read_ended();
  /// What came of a read of `bytes`.
  [[nodiscard]] Result<std::size_t> result_of_read(const std::string& key, std::size_t bytes,
                                                   const Result<S3Answer>& answer) noexcept;

  const std::string bucket_;
  const unsigned max_reads_;
  const unsigned parts_in_flight_;
  std::unique_ptr<S3Client> client_;

  std::mutex mutex_;
  std::deque<S3Call> waiting_;  ///< reads, under mutex_
  unsigned reads_ = 0;          ///< under way, under mutex_
  bool closed_ = false;         ///< under mutex_
};

/// A condition as headers of a write.
[[nodiscard]] TextPairs headers_of(PutCondition condition);
/// That of replace().
[[nodiscard]] TextPairs if_same(const std::string& etag);
/// Whether an answer to a write under that condition says that somebody was first: another version
/// is there, or none.
[[nodiscard]] bool says_changed(const S3Answer& answer, const TextPairs& condition);
/// As refusal(): unsupported where the server does not know the condition of replace().
[[nodiscard]] Status refusal_of_write(const S3Answer& answer, const TextPairs& condition);

/// 128 random bits, hexadecimal.
[[nodiscard]] Result<std::string> make_write_id();

}  // namespace framewire::store::s3
