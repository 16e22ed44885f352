#include <fmt/format.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <base/utf8.hpp>
#include <memory>
#include <transport/wire/peer_name.hpp>
#include <vector>

namespace framewire::transport::wire {
namespace {

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
  void operator()(unsigned char* text) const noexcept { OPENSSL_free(text); }
};
using AlternativeNames = std::unique_ptr<GENERAL_NAMES, FreeNames>;

Status denied(std::string message) { return {StatusCode::kDenied, std::move(message)}; }

// ASN.1 strings have a length; what looks like a name up to its first NUL is another name.
Result<std::string> checked(std::string_view text) {
  if (is_name(text)) return std::string(text);
  if (text.find('\0') != std::string_view::npos) {
    return fail(denied("the peer's certificate carries a name that holds a NUL"));
  }
  return fail(denied(
      fmt::format("the peer's certificate carries a name that is none: found {} bytes; 1 to {} of "
                  "UTF-8 without control characters",
                  text.size(), kMaxPeerNameBytes)));
}

Result<std::string> name_of(const ASN1_STRING* value) {
  unsigned char* raw = nullptr;
  const int bytes = ASN1_STRING_to_UTF8(&raw, value);
  const std::unique_ptr<unsigned char, FreeNames> text(raw);
  if (bytes < 0) return fail(denied("the peer's certificate carries a name that is no text"));
  return checked({reinterpret_cast<const char*>(raw), static_cast<std::size_t>(bytes)});
}

// The subject alternative names that can be somebody's: addresses are places.
Result<std::vector<const ASN1_STRING*>> alternatives(X509* certificate, AlternativeNames& kept) {
  int critical = 0;
  kept.reset(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, nullptr)));
  // -1 says that there is none; -2 that there are several, and 0 or 1 that it cannot be read.
  if (kept == nullptr && critical != -1) {
    return fail(denied("the peer's certificate has alternative names that cannot be read"));
  }
  std::vector<const ASN1_STRING*> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(kept.get()); ++i) {
    int kind = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(kept.get(), i), &kind);
    if (kind == GEN_DNS || kind == GEN_URI || kind == GEN_EMAIL) {
      found.push_back(static_cast<const ASN1_STRING*>(value));
    }
  }
  return found;
}

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxPeerNameBytes) return false;
  while (!text.empty()) {
    const auto character = base::first_character(text);
    if (character.bytes == 0 || base::is_control(character.code)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

Result<std::string> name_of(X509* certificate) {
  AlternativeNames kept;
  const auto names = alternatives(certificate, kept);
  if (!names) return fail(names.error());
  if (names->size() > 1) {
    return fail(denied(fmt::format(
        "the peer's certificate has {} alternative names; one name tells who somebody is",
        names->size())));
  }
  if (names->size() == 1) return name_of(names->front());

  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (first < 0) return fail(denied("the peer's certificate carries no name"));
  if (X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) {
    return fail(
        denied("the peer's certificate has several common names; one name tells who somebody is"));
  }
  return name_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
}

}  // namespace framewire::transport::wire
