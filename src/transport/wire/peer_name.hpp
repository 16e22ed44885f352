// The one name by which a peer is known.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <string_view>

struct x509_st;

namespace framewire::transport::wire {

inline constexpr std::size_t kMaxPeerNameBytes = 256;

/// Whether a text can be a peer's name: 1 to kMaxPeerNameBytes of UTF-8, no control characters.
[[nodiscard]] bool is_name(std::string_view text);

/// The name that a certificate is for. Subject alternative names count first (RFC 6125, 6.4.4):
/// where there are DNS names, URIs or e-mail addresses there must be one of them in all, and it is
/// the name; else the subject's common name is, of which there must be one too. A name is taken at
/// its whole length.
/// @param certificate  one whose chain has been verified
/// @return denied, saying why, where there is no name, more than one, or one that is_name() refuses
[[nodiscard]] Result<std::string> name_of(x509_st* certificate);

}  // namespace framewire::transport::wire
