// ObjectReader over S3's protocol: one GET an object.
#include <store/s3/s3_client.hpp>

namespace framewire::store {
namespace {

// Whoever asked waits for an answer, which an exception would not be.
Result<ObjectAnswer> object_answer(Result<s3::S3Answer> answer) noexcept try {
  if (!answer) return fail(std::move(answer.error()));
  const unsigned status = answer->fields.status;
  ObjectAnswer made{status, s3::object_head(answer->fields), std::nullopt};
  if (status >= 300 && status != 304) made.why = s3::refusal(*answer);
  return made;
} catch (const std::exception&) {
  return fail(StatusCode::kBusy, "memory ran out");
}

class S3Reader final : public ObjectReader {
 public:
  explicit S3Reader(std::unique_ptr<s3::S3Client> client) : client_(std::move(client)) {}

  [[nodiscard]] Result<void> start(ObjectQuery query, std::shared_ptr<BodySink> sink,
                                   Done done) override {
    auto address = client_->address_of(query.bucket);
    if (!address) return fail(std::move(address.error()));
    s3::S3Call call;
    call.address = *std::move(address);
    call.method = "GET";
    call.key = std::move(query.key);
    if (!query.version.empty()) call.query = {{"versionId", std::move(query.version)}};
    const auto condition = [&](const char* name, std::string& value) {
      if (!value.empty()) call.headers.emplace_back(name, std::move(value));
    };
    condition("if-none-match", query.if_none_match);
    condition("if-modified-since", query.if_modified_since);
    call.sink = std::move(sink);
    call.deadline = query.deadline;
    call.cancelled = std::move(query.cancelled);
    call.done = [done = std::move(done)](Result<s3::S3Answer> answer) {
      done(object_answer(std::move(answer)));
    };
    client_->submit(std::move(call));
    return {};
  }

 private:
  std::unique_ptr<s3::S3Client> client_;
};

}  // namespace

Result<std::unique_ptr<ObjectReader>> open_reader(const StoreSettings& settings,
                                                  const StoreTiming& timing,
                                                  const EnvironmentLookup& environment) {
  auto client = s3::S3Client::make("", settings, timing, environment);
  if (!client) return fail(std::move(client.error()));
  return std::make_unique<S3Reader>(*std::move(client));
}

}  // namespace framewire::store
