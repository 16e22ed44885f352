// One small answer from a service beside S3: metadata of a machine, tokens, roles.
#pragma once

#include <chrono>
#include <framewire/status.hpp>
#include <store/text.hpp>
#include <string>

namespace framewire::store::s3 {

struct SmallFetch {
  std::string method = "GET";
  std::string url;
  TextPairs headers;
  std::string body;  ///< of POST
  std::chrono::milliseconds connect{1'000};
  std::chrono::milliseconds total{5'000};
  bool proxy = false;  ///< by the environment's proxies, as libcurl reads them
};
struct SmallAnswer {
  unsigned status = 0;
  std::string body;  ///< at most kMaxAnswerBytes
};

/// Waits for the answer, whatever its status. No redirect is followed.
/// @return io_error without the URL's query, deadline, too_large
[[nodiscard]] Result<SmallAnswer> fetch_small(const SmallFetch& fetch);

}  // namespace framewire::store::s3
