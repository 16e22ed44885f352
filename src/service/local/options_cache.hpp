// Options that a client has used, by their text.
#pragma once

#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <list>
#include <string>
#include <string_view>

namespace framewire::service::local {

/// Parses each text once, as long as it is among the last kMaxEntries that came. One thread.
class OptionsCache {
 public:
  static constexpr std::size_t kMaxEntries = 32;

  /// @param limits  a client's own count where they are lower
  explicit OptionsCache(const Limits& limits) : limits_(limits) {}

  /// @return valid until the next call; invalid_input for a text that is no canonical options.
  ///         Throws std::bad_alloc
  [[nodiscard]] Result<const ResizeOptions*> find(std::string_view text);
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string text;
    ResizeOptions options;
  };
  const Limits limits_;
  std::list<Entry> entries_;  ///< the one that came last first
};

}  // namespace framewire::service::local
