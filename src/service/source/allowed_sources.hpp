// The list of sources that may be fetched.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <service/source/source_url.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::service::source {

/// SourceSettings::allowed_sources, parsed once. Thread safety: const, from any number of threads.
class AllowedSources {
 public:
  /// @return invalid_input for an entry that is no source, names no bucket, or holds a user name, a
  ///         query, a fragment or a `*` that stands for nothing, with the entry as its subject;
  ///         too_large for more than 1,024 entries
  [[nodiscard]] static Result<AllowedSources> parse(std::span<const std::string> entries);

  /// Whether the source may be fetched: true for an empty list. Scheme, host and port are compared
  /// whole, then the path on whole segments. A path whose escapes hide `..`, once or several times
  /// over, is only let in by an entry for the whole host: who decodes it decides where it leads.
  /// Time grows with the lengths of list and source.
  [[nodiscard]] bool allows(const SourceUrl& url) const;

 private:
  struct Entry {
    std::string scheme;
    std::string host;                   ///< may hold `*`
    std::optional<std::uint16_t> port;  ///< none: any
    std::string path;
    std::vector<std::string> segments;  ///< each may hold `*`
    bool below = false;                 ///< only what lies below the path matches
  };

  [[nodiscard]] static Result<Entry> parse_entry(const std::string& text);
  [[nodiscard]] static Result<void> read_host(const std::string& text, std::string_view authority,
                                              std::string_view path, Entry& entry);
  [[nodiscard]] static bool matches(const Entry& entry, const SourceUrl& url, bool hides_dots);

  std::vector<Entry> entries_;
};

/// Whether `text` matches a pattern in which each `*` stands for one or more characters.
/// Time: at most the product of both lengths.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text) noexcept;

/// Whether decoding the path, any number of times, brings forth a `..` segment, with `\` read as
/// `/`. True as well for a path that is still encoded after four times.
[[nodiscard]] bool hides_dot_segments(std::string_view path);

}  // namespace framewire::service::source
