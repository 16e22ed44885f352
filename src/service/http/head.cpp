#include <algorithm>
#include <base/ascii.hpp>
#include <charconv>
#include <service/http/head.hpp>

namespace framewire::service::http {
namespace {

using Text = std::string_view;

constexpr Text kLineEnd = "\r\n";

tl::unexpected<HeadError> refuse(HeadFault fault, std::string message) {
  return tl::unexpected<HeadError>(HeadError{fault, std::move(message)});
}
tl::unexpected<HeadError> malformed(std::string message) {
  return refuse(HeadFault::kMalformed, std::move(message));
}

bool is_token_char(char c) noexcept {
  constexpr Text kMarks = "!#$%&'*+-.^_`|~";
  return base::is_letter_or_digit(c) || kMarks.find(c) != Text::npos;
}

// Visible ASCII, or a byte of UTF-8, which some clients send as it is.
bool is_target_char(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7F;
}

bool is_value_char(char c) noexcept { return c == ' ' || c == '\t' || is_target_char(c); }

// "METHOD SP target SP HTTP/1.x"
tl::expected<void, HeadError> parse_request_line(Text line, const HeadBounds& bounds, Head& head) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == Text::npos || last == first) {
    return malformed("the request line is not a method, a target and a version");
  }
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  const Text version = line.substr(last + 1);
  if (!is_token(head.method)) return malformed("the method is no token");
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || !base::is_digit(version[5]) ||
      version[6] != '.' || !base::is_digit(version[7])) {
    return malformed("the request line does not end with a version");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(HeadFault::kVersion, "accepted: HTTP/1.1 and HTTP/1.0");
  }
  head.minor_version = version[7] - '0';
  if (head.target.size() > bounds.target_bytes) {
    return refuse(HeadFault::kTargetTooLong, "the request target is too long");
  }
  if (head.target.empty() || !std::all_of(head.target.begin(), head.target.end(), is_target_char)) {
    return malformed("the request target has a space or a control character");
  }
  return {};
}

// Origin form stays; of absolute form what follows the authority; "*" for OPTIONS alone.
tl::expected<void, HeadError> normalise_target(Head& head) {
  if (head.target.front() == '/' || (head.target == "*" && head.method == "OPTIONS")) return {};
  for (const Text scheme : {Text("http://"), Text("https://")}) {
    if (!base::equals_ignoring_case(head.target.substr(0, scheme.size()), scheme)) continue;
    const auto path = head.target.find_first_of("/?", scheme.size());
    if (path == scheme.size()) break;
    head.target = path == Text::npos ? Text("/") : head.target.substr(path);
    if (head.target.front() == '?') break;
    return {};
  }
  return malformed("the request target is neither a path nor an http URL with one");
}

tl::expected<Field, HeadError> parse_field(Text line) {
  if (line.front() == ' ' || line.front() == '\t') return malformed("a field is folded");
  const auto colon = line.find(':');
  if (colon == Text::npos) return malformed("a field has no colon");
  const Field field{line.substr(0, colon), base::trim_blanks(line.substr(colon + 1))};
  if (!is_token(field.name)) return malformed("a field's name is no token");
  if (!std::all_of(field.value.begin(), field.value.end(), is_value_char)) {
    return malformed("a field's value has a control character");
  }
  return field;
}

tl::expected<void, HeadError> take_length(Text value, Head& head) {
  if (head.content_length) return malformed("Content-Length is given twice");
  std::uint64_t length = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, length);
  // from_chars takes no sign for unsigned numbers, so that digits alone remain.
  if (value.empty() || error != std::errc{} || stop != end) {
    return malformed("Content-Length is no number");
  }
  head.content_length = length;
  return {};
}

tl::expected<void, HeadError> take_coding(Text value, Head& head) {
  if (head.chunked) return malformed("Transfer-Encoding is given twice");
  if (!base::equals_ignoring_case(value, "chunked")) {
    return refuse(HeadFault::kTransferEncoding, "accepted as Transfer-Encoding: chunked");
  }
  head.chunked = true;
  return {};
}

// RFC 9110 5.6.1: elements may be empty, and have spaces around them.
bool is_token_list(Text list) {
  while (true) {
    const auto comma = list.find(',');
    const Text element = base::trim_blanks(list.substr(0, comma));
    if (!element.empty() && !is_token(element)) return false;
    if (comma == Text::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

struct Seen {
  int hosts = 0;
  bool close = false;
  bool keep_alive = false;
};

tl::expected<void, HeadError> interpret(const Field& field, Head& head, Seen& seen) {
  if (base::equals_ignoring_case(field.name, "content-length")) {
    return take_length(field.value, head);
  }
  if (base::equals_ignoring_case(field.name, "transfer-encoding")) {
    return take_coding(field.value, head);
  }
  if (base::equals_ignoring_case(field.name, "host")) {
    ++seen.hosts;
    if (field.value.find_first_of(" \t/,@") != Text::npos) return malformed("Host is no host");
  } else if (base::equals_ignoring_case(field.name, "connection")) {
    if (!is_token_list(field.value)) return malformed("Connection is no list of words");
    seen.close = seen.close || list_has(field.value, "close");
    seen.keep_alive = seen.keep_alive || list_has(field.value, "keep-alive");
  } else if (base::equals_ignoring_case(field.name, "expect")) {
    if (!base::equals_ignoring_case(field.value, "100-continue")) {
      return refuse(HeadFault::kExpectation, "accepted as Expect: 100-continue");
    }
    head.expects_continue = true;
  }
  return {};
}

tl::expected<void, HeadError> check_framing(Head& head, const Seen& seen) {
  if (head.chunked && head.content_length) {
    return malformed("Content-Length and Transfer-Encoding are given together");
  }
  if (head.chunked && head.minor_version == 0) {
    return malformed("HTTP/1.0 has no Transfer-Encoding");
  }
  if (seen.hosts > 1 || (seen.hosts == 0 && head.minor_version == 1)) {
    return malformed("HTTP/1.1 wants exactly one Host");
  }
  head.keep_alive = !seen.close && (head.minor_version == 1 || seen.keep_alive);
  // RFC 9110 10.1.1: of HTTP/1.0 the expectation is ignored.
  head.expects_continue = head.expects_continue && head.minor_version == 1;
  return {};
}

}  // namespace

bool is_token(Text text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool list_has(Text list, Text token) noexcept {
  while (true) {
    const auto comma = list.find(',');
    if (base::equals_ignoring_case(base::trim_blanks(list.substr(0, comma)), token)) return true;
    if (comma == Text::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

bool Head::has(Text name) const noexcept {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    return base::equals_ignoring_case(field.name, name);
  });
}

std::string Head::joined(Text name) const {
  std::string list;
  for (const Field& field : fields) {
    if (!base::equals_ignoring_case(field.name, name)) continue;
    if (!list.empty()) list += ", ";
    list += field.value;
  }
  return list;
}

std::string_view Head::get(Text name) const noexcept {
  for (const Field& field : fields) {
    if (base::equals_ignoring_case(field.name, name)) return field.value;
  }
  return {};
}

tl::expected<std::size_t, HeadError> find_head_end(Text text, std::size_t& seen,
                                                   const HeadBounds& bounds) {
  const Text within = text.substr(0, bounds.head_bytes);
  for (; seen < within.size(); ++seen) {
    const char c = within[seen];
    if (c == '\0') return malformed("the head has a NUL byte");
    if (c != '\n') continue;
    if (seen == 0 || within[seen - 1] != '\r') {
      return malformed("a line does not end with carriage return and line feed");
    }
    // An empty line: two ends of lines in a row.
    if (seen >= 3 && within[seen - 2] == '\n') return ++seen;
  }
  if (text.size() < bounds.head_bytes) return 0;
  // A target that fills all the room is told apart from too many fields.
  const Text line = within.substr(0, within.find(kLineEnd));
  if (line.size() > bounds.target_bytes) {
    return refuse(HeadFault::kTargetTooLong, "the request target is too long");
  }
  return refuse(HeadFault::kHeadTooLong, "the request's head is too long");
}

tl::expected<Head, HeadError> parse_head(Text text, const HeadBounds& bounds) {
  Head head;
  Seen seen;
  const auto first_end = text.find(kLineEnd);
  if (first_end == Text::npos || !text.ends_with("\r\n\r\n")) return malformed("no head");
  if (auto line = parse_request_line(text.substr(0, first_end), bounds, head); !line) {
    return tl::unexpected<HeadError>(line.error());
  }
  if (auto target = normalise_target(head); !target) {
    return tl::unexpected<HeadError>(target.error());
  }
  head.fields.reserve(16);
  Text rest = text.substr(first_end + 2);
  while (rest != kLineEnd) {
    const auto end = rest.find(kLineEnd);
    if (end == 0 || end == Text::npos) return malformed("an empty line inside the head");
    if (head.fields.size() == bounds.fields) {
      return refuse(HeadFault::kHeadTooLong, "the request has too many fields");
    }
    auto field = parse_field(rest.substr(0, end));
    if (!field) return tl::unexpected<HeadError>(field.error());
    if (auto taken = interpret(*field, head, seen); !taken) {
      return tl::unexpected<HeadError>(taken.error());
    }
    head.fields.push_back(*field);
    rest.remove_prefix(end + 2);
  }
  if (auto framing = check_framing(head, seen); !framing) {
    return tl::unexpected<HeadError>(framing.error());
  }
  return head;
}

}  // namespace framewire::service::http
