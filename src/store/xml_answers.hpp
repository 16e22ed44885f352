// The XML that S3 and STS answer with, and the little that is sent to them.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <span>
#include <store/object_store.hpp>
#include <store/signature.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::store {

/// A page of a listing is not read any further. A thousand keys of 1,024 bytes, each byte escaped,
/// are 3 MB.
inline constexpr std::size_t kMaxListingBytes = std::size_t{8} << 20;
/// Of any other answer that is XML or text.
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10;

/// One page of ListObjectsV2.
struct ListingPage {
  std::vector<ObjectInfo> objects;  ///< as the server ordered them
  std::string next;                 ///< the token of the next page; empty: this is the last
};

/// @return io_error for what is no such page: keys that are empty, over 1,024 bytes or hold a NUL,
/// sizes and times that cannot be read, a page that is not the last and has no token
[[nodiscard]] Result<ListingPage> parse_listing(std::string_view xml);

/// What a server says about a request that it refuses; parts may be empty.
struct ServiceError {
  std::string code;     ///< "NoSuchKey"; letters and digits alone
  std::string message;  ///< printable()
  std::string region;   ///< where the bucket is, in answers to those who looked elsewhere
};
/// @return nothing where the answer is no <Error>, nor an <ErrorResponse> with one
[[nodiscard]] std::optional<ServiceError> parse_service_error(std::string_view xml);

/// The UploadId of an InitiateMultipartUploadResult. @return io_error
[[nodiscard]] Result<std::string> parse_upload_id(std::string_view xml);
/// Whether the answer to a CompleteMultipartUpload says that there is an object now.
[[nodiscard]] bool is_completion(std::string_view xml);
/// The keys of an AssumeRoleWithWebIdentityResponse. @return io_error
[[nodiscard]] Result<S3Credentials> parse_assumed_role(std::string_view xml);

/// The body of CompleteMultipartUpload. @param etags  of parts 1, 2, …; without quotes
[[nodiscard]] std::string completion_body(std::span<const std::string> etags);

/// Without the quotes around it. @return nothing for an ETag that cannot stand in a header: over
/// 1,024 bytes, a quote or anything but visible ASCII in it
[[nodiscard]] std::optional<std::string> unquoted_etag(std::string_view etag);

}  // namespace framewire::store
