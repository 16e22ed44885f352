#include <fmt/format.h>
#include <charconv>
#include <dataset/tar/pax.hpp>

namespace framewire::dataset::tar {
namespace {

template <typename Number>
Result<Number> number_in(std::string_view key, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return value;
  return fail(StatusCode::kInvalidInput,
              fmt::format("the pax header's {} is no number in range", key));
}

// A number of bytes, at most 2^63 − 1, as offsets are.
Result<void> take_size(std::string_view value, PaxAttributes& out) {
  const auto size = number_in<std::int64_t>("size", value);
  if (!size) return fail(size.error());
  if (*size < 0) return fail(StatusCode::kInvalidInput, "the pax header's size is negative");
  out.size = static_cast<std::uint64_t>(*size);
  return {};
}

// "-1.5" is half a second before -1.
Result<void> take_mtime(std::string_view value, PaxAttributes& out) {
  const std::size_t dot = value.find('.');
  const auto seconds = number_in<std::int64_t>("mtime", value.substr(0, dot));
  if (!seconds) return fail(seconds.error());
  const bool fraction = dot != std::string_view::npos &&
                        value.find_first_not_of('0', dot + 1) != std::string_view::npos;
  const bool down = fraction && value.starts_with('-') && *seconds > INT64_MIN;
  out.mtime_s = down ? *seconds - 1 : *seconds;
  return {};
}

Result<void> take_id(std::string_view key, std::string_view value,
                     std::optional<std::uint64_t>& out) {
  const auto id = number_in<std::uint64_t>(key, value);
  if (!id) return fail(id.error());
  out = *id;
  return {};
}

Result<void> take(std::string_view key, std::string_view value, PaxAttributes& out) {
  if (key == "path") out.path = value;
  if (key == "uname") out.user_name = value;
  if (key == "gname") out.group_name = value;
  if (key.starts_with("GNU.sparse.")) out.sparse = true;
  if (key == "GNU.sparse.name") out.sparse_name = value;
  if (key == "size") return take_size(value, out);
  if (key == "mtime") return take_mtime(value, out);
  if (key == "uid") return take_id(key, value, out.user);
  if (key == "gid") return take_id(key, value, out.group);
  return {};
}

}  // namespace

void PaxAttributes::update(const PaxAttributes& later) {
  const auto take_over = [](auto& value, const auto& other) {
    if (other) value = other;
  };
  take_over(path, later.path);
  take_over(size, later.size);
  take_over(mtime_s, later.mtime_s);
  take_over(user, later.user);
  take_over(group, later.group);
  take_over(user_name, later.user_name);
  take_over(group_name, later.group_name);
  sparse = sparse || later.sparse;
  take_over(sparse_name, later.sparse_name);
}

Result<PaxAttributes> parse_records(std::string_view records) {
  PaxAttributes out;
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    const bool fits = error == std::errc{} && length > digits + 1 && length <= records.size() &&
                      records[digits] == ' ' && records[length - 1] == '\n';
    const std::string_view body = fits ? records.substr(digits + 1, length - digits - 2) : "";
    const std::size_t equals = body.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(StatusCode::kInvalidInput,
                  "the pax header has a record that is not LENGTH KEY=VALUE");
    }
    if (auto ok = take(body.substr(0, equals), body.substr(equals + 1), out); !ok) {
      return fail(ok.error());
    }
    records.remove_prefix(length);
  }
  return out;
}

// The length counts its own digits.
void add_record(std::string& records, std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (rest + fmt::formatted_size("{}", length) > length) ++length;
  records += fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace framewire::dataset::tar
