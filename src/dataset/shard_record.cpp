#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <batch/row.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <dataset/shard_record.hpp>
#include <nlohmann/json.hpp>
#include <vector>

namespace framewire::dataset {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSuffix = ".jsonl";

std::optional<std::uint64_t> hash_in(const Json& json) {
  const auto text = json.value("hash", std::string());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Throws nlohmann's exceptions for values of other kinds.
std::optional<ShardRecord> record_in(const Json& json) {
  ShardRecord record;
  record.shard = json.at("shard").get<std::string>();
  record.input = json.at("input").get<std::string>();
  record.bytes_in = json.at("bytes_in").get<std::uint64_t>();
  record.mtime_ns = json.at("mtime_ns").get<std::int64_t>();
  record.version = json.value("version", std::string());
  record.version_out = json.value("version_out", std::string());
  record.path = json.value("path", std::string());
  record.options_hash = json.at("options_hash").get<std::string>();
  const auto failed_samples = json.at("failed_samples").get<std::string>();
  if (failed_samples == to_string(FailedSamples::kKeep)) {
    record.failed_samples = FailedSamples::kKeep;
  } else if (failed_samples != to_string(FailedSamples::kDrop)) {
    return std::nullopt;
  }
  record.bytes_out = json.at("bytes_out").get<std::uint64_t>();
  const auto hash = hash_in(json);
  if (!hash) return std::nullopt;
  record.hash_out = *hash;
  record.samples = json.at("samples").get<std::uint64_t>();
  record.dropped = json.at("dropped").get<std::uint64_t>();
  record.ok = json.at("ok").get<std::uint64_t>();
  record.failed = json.at("failed").get<std::uint64_t>();
  record.copied = json.at("copied").get<std::uint64_t>();
  if (!json.at("damaged_at").is_null()) {
    record.damaged_at = json.at("damaged_at").get<std::uint64_t>();
  }
  record.seconds = json.at("seconds").get<double>();
  return record;
}

}  // namespace

std::string_view to_string(FailedSamples what) noexcept {
  return what == FailedSamples::kKeep ? "keep" : "drop";
}

std::string to_json_line(const ShardRecord& record) {
  Json json;
  json["shard"] = record.shard;
  json["input"] = record.input;
  json["bytes_in"] = record.bytes_in;
  json["mtime_ns"] = record.mtime_ns;
  json["bytes_out"] = record.bytes_out;
  json["hash"] = fmt::format("{:016x}", record.hash_out);
  json["samples"] = record.samples;
  json["dropped"] = record.dropped;
  json["ok"] = record.ok;
  json["failed"] = record.failed;
  json["copied"] = record.copied;
  json["damaged_at"] = record.damaged_at ? Json(*record.damaged_at) : Json(nullptr);
  json["seconds"] = std::round(record.seconds * 1000) / 1000;
  json["failed_samples"] = to_string(record.failed_samples);
  json["options_hash"] = record.options_hash;
  if (!record.version.empty()) json["version"] = record.version;
  if (!record.version_out.empty()) json["version_out"] = record.version_out;
  if (!record.path.empty()) json["path"] = record.path;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<ShardRecord> parse_record(std::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object() || !json.contains("shard")) return std::nullopt;
  try {
    return record_in(json);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool is_same_work(const ShardRecord& one, const ShardRecord& other) noexcept {
  const bool same_input = one.bytes_in == other.bytes_in && one.version == other.version &&
                          (!one.version.empty() || one.mtime_ns == other.mtime_ns);
  return same_input && one.options_hash == other.options_hash &&
         one.failed_samples == other.failed_samples;
}

std::optional<ShardRecord> record_at_end(std::string_view tail) {
  if (!tail.ends_with('\n')) return std::nullopt;
  const std::size_t before =
      tail.size() < 2 ? std::string_view::npos : tail.rfind('\n', tail.size() - 2);
  return parse_record(tail.substr(before == std::string_view::npos ? 0 : before + 1));
}

bool begins_like_manifest(std::string_view head, bool whole) {
  const std::size_t end = head.find('\n');
  const std::string_view line = head.substr(0, end);
  if (end == std::string_view::npos && !whole) return false;
  if (batch::is_row(line) || parse_record(line)) return true;
  if (end != std::string_view::npos) return false;
  return batch::is_cut_row(line) || batch::is_cut_object(line, "shard", "input");
}

Status is_no_manifest(const std::string& label) {
  return Status(StatusCode::kInvalidInput,
                "is no manifest of a shard, and is not replaced; accepted: another folder, or "
                "--manifest with one")
      .about(label);
}

std::string manifest_name(const std::string& shard) { return shard + std::string(kSuffix); }

namespace {

base::FileDescriptor open_manifest(int folder, const std::string& name) {
  return base::FileDescriptor(
      ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// Of a regular file. @return errno
tl::expected<std::string, int> read_some(int file, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const auto got = base::read_full_at(file, offset, base::bytes_of(text));
  if (!got) return tl::unexpected<int>(got.error());
  text.resize(*got);
  return text;
}

tl::expected<std::string, int> read_tail(int file, std::uint64_t bytes) {
  const std::uint64_t tail = std::min<std::uint64_t>(bytes, kRecordTailBytes);
  return read_some(file, bytes - tail, tail);
}

}  // namespace

std::optional<ShardRecord> read_record(int folder, const std::string& name) {
  const base::FileDescriptor file = open_manifest(folder, name);
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return std::nullopt;
  }
  const auto text = read_tail(file.get(), static_cast<std::uint64_t>(facts.st_size));
  return text ? record_at_end(*text) : std::nullopt;
}

tl::expected<bool, int> may_replace_manifest(int folder, const std::string& name) {
  const base::FileDescriptor file = open_manifest(folder, name);
  if (!file.valid() && errno == ENOENT) return true;
  if (!file.valid() && errno == ELOOP) return false;  // a link
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return tl::unexpected<int>(errno);
  if (!S_ISREG(facts.st_mode)) return false;
  const auto text = read_tail(file.get(), static_cast<std::uint64_t>(facts.st_size));
  if (!text) return tl::unexpected<int>(text.error());
  if (text->empty() || record_at_end(*text)) return true;
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  const auto head = read_some(file.get(), 0, std::min<std::uint64_t>(bytes, kManifestHeadBytes));
  if (!head) return tl::unexpected<int>(head.error());
  return begins_like_manifest(*head, head->size() == bytes);
}

}  // namespace framewire::dataset
