#include <algorithm>
#include <base/ascii.hpp>
#include <iterator>
#include <service/http/http2_head.hpp>
#include <utility>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

// RFC 9113 8.2.2: HTTP/2 frames messages and ends connections by itself.
constexpr Text kOfConnections[] = {"connection", "keep-alive", "proxy-connection",
                                   "transfer-encoding", "upgrade"};
// Fields of answers whose values never come twice.
constexpr Text kChanging[] = {"x-request-id", "server-timing", "content-disposition"};

template <typename List>
bool contains(const List& list, Text name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// A line of its own must not begin within a value.
bool breaks_line(Text text) { return text.find_first_of(Text("\r\n\0", 3)) != Text::npos; }

}  // namespace

void Http2Head::fault(HeadFault kind, const char* message) {
  if (!fault_) fault_ = HeadError{kind, message};
}

void Http2Head::add(Text name, Text value) {
  if (fault_) return;
  // As many bytes as the line would have in HTTP/1.1.
  bytes_ += name.size() + value.size() + 4;
  if (name == ":path" && value.size() > bounds_.target_bytes) {
    fault(HeadFault::kTargetTooLong, "the request target is too long");
  } else if (bytes_ > bounds_.head_bytes) {
    fault(HeadFault::kHeadTooLong, "the request's head is too long");
  } else if (breaks_line(value)) {
    fault(HeadFault::kMalformed, "a field's value has a control character");
  } else if (name.starts_with(':')) {
    add_pseudo(name, value);
  } else {
    add_field(name, value);
  }
}

void Http2Head::add_pseudo(Text name, Text value) {
  if (name == ":method") {
    if (!is_token(value)) fault(HeadFault::kMalformed, "the method is no token");
    method_ = value;
  } else if (name == ":path") {
    // HTTP/1.1 has absolute targets, too; here the authority stands in its own field.
    if (!value.starts_with('/') && value != "*") {
      fault(HeadFault::kMalformed, "the request target is no path");
    }
    target_ = value;
  } else if (name == ":authority") {
    authority_ = value;
  } else if (name == ":scheme") {
    if (!base::equals_ignoring_case(value, "https") && !base::equals_ignoring_case(value, "http")) {
      fault(HeadFault::kMalformed, "the scheme is neither https nor http");
    }
  } else {
    fault(HeadFault::kMalformed, "a pseudo header is not known");
  }
}

void Http2Head::add_field(Text name, Text value) {
  if (++lines_ > bounds_.fields) {
    fault(HeadFault::kHeadTooLong, "the request has too many fields");
  } else if (!is_token(name) || contains(kOfConnections, name)) {
    fault(HeadFault::kMalformed, "a field is of HTTP/1.1 alone");
  } else if (name == "host") {
    if (host_) fault(HeadFault::kMalformed, "Host is given twice");
    host_ = value;
  } else {
    has_length_ = has_length_ || name == "content-length";
    fields_ += name;
    fields_ += ": ";
    fields_ += value;
    fields_ += "\r\n";
  }
}

tl::expected<std::string, HeadError> Http2Head::text(bool ended) const {
  if (fault_) return tl::unexpected<HeadError>(*fault_);
  const auto malformed = [](const char* message) {
    return tl::unexpected<HeadError>(HeadError{HeadFault::kMalformed, message});
  };
  if (method_.empty() || target_.empty()) return malformed("there is no method, or no path");
  // RFC 9113 8.3.1: two that differ would be read by one reader so, by another otherwise.
  if (authority_ && host_ && !base::equals_ignoring_case(*authority_, *host_)) {
    return malformed("Host is not what :authority says");
  }
  const std::string& host = authority_ ? *authority_ : host_.value_or("");
  if (!authority_ && !host_) return malformed("there is no :authority");
  std::string text;
  text.reserve(method_.size() + target_.size() + host.size() + fields_.size() + 64);
  text.append(method_).append(" ").append(target_).append(" HTTP/1.1\r\nHost: ");
  text.append(host).append("\r\n").append(fields_);
  if (!ended && !has_length_) text += "Transfer-Encoding: chunked\r\n";
  // An upload without a body has a length that is known.
  if (ended && !has_length_ && method_ == "POST") text += "Content-Length: 0\r\n";
  text += "\r\n";
  return text;
}

Http2AnswerHead::Http2AnswerHead(std::string head) : text_(std::move(head)) {
  // "HTTP/1.1 200 OK"
  lines_.reserve(24);
  lines_.push_back({":status", Text(text_).substr(9, 3)});
  std::size_t at = text_.find("\r\n") + 2;
  while (true) {
    const std::size_t end = text_.find("\r\n", at);
    const std::size_t colon = text_.find(": ", at);
    if (end == at || end == std::string::npos || colon >= end) return;
    for (std::size_t i = at; i < colon; ++i) text_[i] = base::to_lower(text_[i]);
    const Text name = Text(text_).substr(at, colon - at);
    if (!contains(kOfConnections, name)) {
      lines_.push_back({name, base::trim_blanks(Text(text_).substr(colon + 2, end - colon - 2)),
                        contains(kChanging, name)});
    }
    at = end + 2;
  }
}

}  // namespace framewire::service::http
