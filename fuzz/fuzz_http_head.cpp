// Requests as they come over a socket: heads, chunked bodies, queries and forms.
//
// Beyond not crashing: a head is found at the same place however its bytes come in pieces; what is
// accepted has one meaning (no length beside a coding, a Host, no control characters); a chunked
// body is the same in pieces of any size; no field of an answer breaks its line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <service/http/chunked.hpp>
#include <service/http/etag.hpp>
#include <service/http/head.hpp>
#include <service/http/multipart.hpp>
#include <service/http/query.hpp>
#include <service/http/response.hpp>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace framewire::service::http;

void require(bool held) {
  if (!held) std::abort();
}

void check_head(std::string_view text) {
  const HeadBounds bounds{4096, 1024, 20};
  std::size_t seen = 0;
  const auto whole = find_head_end(text, seen, bounds);
  std::size_t seen_by_bytes = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto piece = find_head_end(text.substr(0, i), seen_by_bytes, bounds);
    if (!piece) {
      require(!whole);
      break;
    }
    if (*piece == 0) continue;
    require(whole && *whole == *piece);
    break;
  }
  if (!whole || *whole == 0) return;
  const auto head = parse_head(text.substr(0, *whole), bounds);
  if (!head) {
    require(!head.error().message.empty());
    return;
  }
  require(!(head->chunked && head->content_length));
  require(head->minor_version == 0 || !head->get("host").empty() || head->fields.size() > 0);
  require(head->target.front() == '/' || head->target == "*");
  for (const Field& field : head->fields) {
    require(is_token(field.name));
    require(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
  }
  const EtagRecipe recipe{"r"};
  const KnownOriginal known = known_original(recipe, head->get("if-none-match"));
  require(known.etag.empty() || none_match_lists(head->get("if-none-match"),
                                                 make_etag(recipe, known.etag, known.url_hash)));
  framewire::ResizeOptions options;
  if (const auto query = parse_query(split_target(head->target).query)) {
    (void)set_options(options, *query);
  }
  (void)form_boundary(head->get("content-type"));
  (void)parse_http_date(head->get("if-modified-since"));
}

// The body, or "!" where it is refused, or what came of it with a "?" where it has not ended.
std::string unchunk(std::string_view text, std::size_t piece) {
  ChunkDecoder decoder;
  std::string body;
  std::size_t begin = 0;
  std::size_t end = 0;
  while (true) {
    const auto step = decoder.step(text.substr(begin, end - begin));
    if (!step) return "!";
    body += step->data;
    begin += step->consumed;
    require(begin <= end);
    if (step->ended) return body;
    if (step->consumed != 0) continue;
    if (end == text.size()) return body + "?";
    end = std::min(end + piece, text.size());
  }
}

void check_response(std::string_view text) {
  Response response;
  response.add_field("X", text);
  require(response.fields.find('\n') == response.fields.size() - 1);
  const std::string escaped = json_escaped(text);
  require(escaped.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_head(text);
  const std::string body = unchunk(text, text.size() + 1);
  const std::string by_bytes = unchunk(text, 1);
  // A refusal may come before the rest does; what ends, ends alike.
  if (body != "!" && !body.ends_with('?')) require(body == by_bytes);
  (void)parse_form({data, size}, "b");
  check_response(text);
  return 0;
}
