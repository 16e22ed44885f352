// ETags of answers: which original, which options, which version of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// What an answer's ETag says besides the original: a hash of everything else that shapes bytes.
struct EtagRecipe {
  std::string text;  ///< printable, without quotes and dots at its end
};

/// The original that a client has an answer from.
struct KnownOriginal {
  std::string etag;            ///< as the original has it; empty: the client has none of ours
  std::uint64_t url_hash = 0;  ///< hash_of_url()
};

/// A redirect may lead to another original with the same tag: so the URL behind it counts.
[[nodiscard]] std::uint64_t hash_of_url(std::string_view final_url) noexcept;

/// The ETag of an answer, with its quotes; weak where the original's is. The original's tag and
/// URL stand in it, so that a later request can ask the origin whether that has changed.
/// @param source_etag  of the original, with its quotes; empty or longer than 256 bytes: none
/// @param url_hash     hash_of_url() of where the original came from, behind redirects
/// @return empty where there is none
[[nodiscard]] std::string make_etag(const EtagRecipe& recipe, std::string_view source_etag,
                                    std::uint64_t url_hash);

/// The original in a tag of ours that If-None-Match lists, if the rest of it still holds.
/// @param if_none_match  as sent: a list, or "*", which names nothing
/// @return without a tag where none of the list was made by this recipe
[[nodiscard]] KnownOriginal known_original(const EtagRecipe& recipe,
                                           std::string_view if_none_match);

/// RFC 9110 13.1.2: whether If-None-Match lists the tag, by weak comparison, or is "*", which
/// stands for whatever there is.
/// @param etag  of what there is; empty where that has none
[[nodiscard]] bool none_match_lists(std::string_view if_none_match, std::string_view etag);

}  // namespace framewire::service::http
