#include <algorithm>
#include <base/ascii.hpp>
#include <base/nanoseconds.hpp>
#include <pugixml.hpp>
#include <sstream>
#include <store/text.hpp>
#include <store/xml_answers.hpp>

namespace framewire::store {
namespace {

constexpr std::size_t kMaxObjectKeyBytes = 1'024;
constexpr std::size_t kMaxTokenBytes = 8'192;
constexpr std::size_t kMaxEtagBytes = 1'024;

tl::unexpected<Status> malformed(std::string what) {
  return fail(StatusCode::kIoError, "the server's answer " + std::move(what));
}

// The root of an answer of that name; none where the text is something else.
pugi::xml_node load(pugi::xml_document& document, std::string_view xml, const char* root) {
  // Blanks that are all of a text may be a key.
  constexpr unsigned kParsing = pugi::parse_default | pugi::parse_ws_pcdata_single;
  if (!document.load_buffer(xml.data(), xml.size(), kParsing, pugi::encoding_utf8)) return {};
  return document.child(root);
}

bool is_visible(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Result<std::string> read_key(pugi::xml_node entry, bool encoded) {
  const std::string_view text = entry.child_value("Key");
  auto key = encoded ? decode_form_text(text) : std::optional<std::string>(text);
  if (!key || key->empty() || key->size() > kMaxObjectKeyBytes ||
      key->find('\0') != std::string::npos) {
    return malformed("has a key that is empty, too long or badly escaped");
  }
  return *std::move(key);
}

Result<ObjectInfo> read_object(pugi::xml_node entry, bool encoded) {
  auto key = read_key(entry, encoded);
  if (!key) return fail(std::move(key.error()));
  const auto bytes = parse_number(base::trim_white(entry.child_value("Size")));
  const auto time = parse_iso_time(base::trim_white(entry.child_value("LastModified")));
  auto etag = unquoted_etag(base::trim_white(entry.child_value("ETag")));
  if (!bytes || !time || !etag) {
    return malformed("lists '" + printable(*key) + "' without a size, time or ETag");
  }
  return ObjectInfo{*std::move(key), *bytes, *std::move(etag),
                    base::to_nanoseconds(time->time_since_epoch().count())};
}

}  // namespace

std::optional<std::string> unquoted_etag(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  if (etag.size() > kMaxEtagBytes || !is_visible(etag) ||
      etag.find('"') != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(etag);
}

Result<ListingPage> parse_listing(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = load(document, xml, "ListBucketResult");
  if (!root) return malformed("is no listing");
  const bool encoded = std::string_view(root.child_value("EncodingType")) == "url";
  ListingPage page;
  for (const pugi::xml_node entry : root.children("Contents")) {
    auto object = read_object(entry, encoded);
    if (!object) return fail(std::move(object.error()));
    page.objects.push_back(*std::move(object));
  }
  const std::string_view truncated = base::trim_white(root.child_value("IsTruncated"));
  if (truncated != "true" && truncated != "false") {
    return malformed("does not say whether the listing goes on");
  }
  if (truncated == "true") {
    page.next = base::trim_white(root.child_value("NextContinuationToken"));
    if (page.next.empty() || page.next.size() > kMaxTokenBytes) {
      return malformed("does not say where the listing goes on");
    }
  }
  return page;
}

std::optional<ServiceError> parse_service_error(std::string_view xml) {
  pugi::xml_document document;
  pugi::xml_node error = load(document, xml, "Error");
  if (!error) error = document.child("ErrorResponse").child("Error");
  if (!error) return std::nullopt;
  const auto is_plain = [](char c) { return base::is_letter_or_digit(c) || c == '.' || c == '-'; };
  ServiceError made;
  for (const char c : std::string_view(error.child_value("Code")).substr(0, 64)) {
    if (is_plain(c)) made.code += c;
  }
  made.message = printable(base::trim_white(error.child_value("Message")));
  for (const char c : std::string_view(error.child_value("Region")).substr(0, 64)) {
    if (is_plain(c)) made.region += c;
  }
  return made;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = load(document, xml, "InitiateMultipartUploadResult");
  const std::string_view id = base::trim_white(root.child_value("UploadId"));
  if (id.empty() || id.size() > kMaxTokenBytes) return malformed("begins no upload");
  return std::string(id);
}

bool is_completion(std::string_view xml) {
  pugi::xml_document document;
  return static_cast<bool>(load(document, xml, "CompleteMultipartUploadResult"));
}

std::string completed_etag(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = load(document, xml, "CompleteMultipartUploadResult");
  return unquoted_etag(base::trim_white(root.child_value("ETag"))).value_or("");
}

Result<S3Credentials> parse_assumed_role(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node keys = load(document, xml, "AssumeRoleWithWebIdentityResponse")
                                  .child("AssumeRoleWithWebIdentityResult")
                                  .child("Credentials");
  const auto text = [&](const char* name) {
    return std::string(base::trim_white(keys.child_value(name)));
  };
  S3Credentials made{text("AccessKeyId"), text("SecretAccessKey"), text("SessionToken"),
                     parse_iso_time(text("Expiration"))};
  if (made.access_key_id.empty() || made.secret_access_key.empty() || !made.expires) {
    return malformed("has no credentials that expire");
  }
  return made;
}

std::string completion_body(std::span<const std::string> etags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text() = static_cast<unsigned>(i + 1);
    part.append_child("ETag").text() = ('"' + etags[i] + '"').c_str();
  }
  std::ostringstream body;
  document.save(body, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
  return body.str();
}

}  // namespace framewire::store
