// Texts of settings that are neither numbers nor words: how they are read and printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::http {

/// At most 64 KiB without control characters.
[[nodiscard]] bool is_text(std::string_view text);
[[nodiscard]] bool parse_text(std::string_view text, std::string& out);
/// Texts joined by commas; empty ones do not count.
[[nodiscard]] bool parse_list(std::string_view text, std::vector<std::string>& out);
[[nodiscard]] std::string print_list(const std::vector<std::string>& list);

/// Whether a list has no entry.
[[nodiscard]] bool lists_nothing(std::string_view text);
/// Whether a secret, or one of several joined by commas, is empty or of blanks alone: most often a
/// variable that was not set where it was put together.
[[nodiscard]] bool has_empty_secret(std::string_view text, bool is_list);

/// A bound of bytes from 1 KiB to 1 GiB: small enough to hold for each connection.
[[nodiscard]] bool parse_small_bytes(std::string_view text, std::uint64_t& out);

/// A number of bytes from 1 KiB on, or 0, which is said by itself alone.
[[nodiscard]] bool parse_bytes_or_none(std::string_view text, std::uint64_t& out);

/// The same, or "auto", which is nothing.
[[nodiscard]] bool parse_bytes_or_auto(std::string_view text, std::optional<std::uint64_t>& out);
[[nodiscard]] std::string print_bytes_or_auto(std::optional<std::uint64_t> value);

/// Permission bits in octal, 0 to 777.
[[nodiscard]] bool parse_mode(std::string_view text, unsigned& out);

/// Numbers of users joined by commas; "" are none.
[[nodiscard]] bool parse_uids(std::string_view text, std::vector<unsigned>& out);

/// What stands in ETags, and in lists of them: up to 64 letters, digits, - and _.
[[nodiscard]] bool parse_buster(std::string_view text, std::string& out);

/// 0, 200, or 400 to 599.
[[nodiscard]] bool parse_fallback_status(std::string_view text, std::uint64_t& out);

/// What carries the data of clients on other hosts: stream or ucx-rdma.
[[nodiscard]] bool parse_link(std::string_view text, std::string& out);

/// Whether a bucket is part of the path: auto (nothing), off or on.
[[nodiscard]] bool parse_path_style(std::string_view text, std::optional<bool>& out);
[[nodiscard]] std::string print_path_style(std::optional<bool> value);

}  // namespace framewire::service::http
