#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <dataset/pack_names.hpp>
#include <dataset/sample_key.hpp>
#include <filesystem>

namespace framewire::dataset {
namespace {

namespace fs = std::filesystem;

/// As many as a number of 64 bits has.
constexpr int kMaxDigits = 19;

tl::unexpected<Status> no_pattern(const std::string& text, std::string_view found) {
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("{}; accepted: one number in the last part and .tar at its end, "
                                 "such as 'shards/%06d.tar'",
                                 found))
                  .about(text));
}

}  // namespace

Result<ShardPattern> ShardPattern::parse(const std::string& text) {
  ShardPattern pattern;
  const fs::path path(text);
  pattern.text_ = text;
  pattern.folder_ = path.parent_path().empty() ? "." : path.parent_path().string();
  const std::string last = path.filename().string();
  if (pattern.folder_.find('%') != std::string::npos) {
    return no_pattern(text, "has a % in a folder's name");
  }
  if (!last.ends_with(".tar")) return no_pattern(text, "does not end in .tar");
  const std::size_t percent = last.find('%');
  if (percent == std::string::npos) return no_pattern(text, "has no place for a shard's number");
  std::size_t end = percent + 1;
  if (last[end] == '0') {
    const auto [stop, error] =
        std::from_chars(last.data() + end, last.data() + last.size(), pattern.digits_);
    if (error != std::errc{} || pattern.digits_ < 1 || pattern.digits_ > kMaxDigits) {
      return no_pattern(text, fmt::format("pads its number to no length from 1 to {}", kMaxDigits));
    }
    end = static_cast<std::size_t>(stop - last.data());
  }
  if (last[end] != 'd') return no_pattern(text, "has a % that is no %d and no %06d");
  pattern.before_ = last.substr(0, percent);
  pattern.conversion_ = last.substr(percent, end + 1 - percent);
  pattern.after_ = last.substr(end + 1);
  if (pattern.after_.find('%') != std::string::npos) return no_pattern(text, "has two numbers");
  return pattern;
}

std::string ShardPattern::last_part() const { return before_ + conversion_ + after_; }

std::string ShardPattern::name(std::uint64_t number) const {
  return fmt::format("{}{:0{}}{}", before_, number, digits_, after_);
}

std::optional<std::uint64_t> ShardPattern::number_of(std::string_view name) const {
  if (name.size() <= before_.size() + after_.size() || !name.starts_with(before_)) {
    return std::nullopt;
  }
  const std::string_view digits =
      name.substr(before_.size(), name.size() - before_.size() - after_.size());
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc{} || stop != end || this->name(number) != name) return std::nullopt;
  return number;
}

Result<std::string> member_name(const std::string& name, KeyDots dots) {
  std::string member = name;
  if (dots == KeyDots::kUnderscore) {
    const std::size_t slash = member.rfind('/');
    const std::size_t first = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t last = member.rfind('.');
    if (last != std::string::npos && last > first) {
      std::replace(member.begin() + static_cast<std::ptrdiff_t>(first),
                   member.begin() + static_cast<std::ptrdiff_t>(last), '.', '_');
    }
  }
  if (!split_sample_name(member).key.empty()) return member;
  return fail(StatusCode::kInvalidInput,
              "has no key by which WebDataset would find it; accepted: names with a dot behind the "
              "first character of their last part, such as 000123.jpg");
}

}  // namespace framewire::dataset
