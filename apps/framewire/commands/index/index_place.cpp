#include <fcntl.h>
#include <algorithm>
#include <array>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <batch/input_error.hpp>
#include <batch/posix_file.hpp>
#include <commands/index/index_place.hpp>
#include <cstdint>
#include <files/whole_file.hpp>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <report/console.hpp>
#include <span>
#include <store/object_store.hpp>
#include <utility>

namespace framewire::app {
namespace {

namespace fs = std::filesystem;

// "v1.2 50", which the first line of DALI's index is.
bool begins_like_dali(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kVersion = "v1.";
  if (!text.starts_with(kVersion)) return false;
  text.remove_prefix(kVersion.size());
  const auto digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of(kDigits), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  if (!digits() || !text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return digits() && (text.empty() || text.front() == '\n' || text.front() == '\r');
}

/// Where an object goes, and what lies there.
struct ObjectPlace {
  std::shared_ptr<store::ObjectStore> store;
  std::string key;
  std::optional<store::ObjectInfo> there;
  bool is_index = false;

  [[nodiscard]] bool may_be_replaced() const { return !there || there->bytes == 0 || is_index; }
};

Result<ObjectPlace> look_at_object(const std::string& path, dataset::StoreSet& stores) {
  auto url = store::parse_object_url(path);
  if (!url) return fail(batch::about_label(url.error(), path));
  auto store = stores.get(url->bucket);
  if (!store) return fail(batch::about_label(store.error(), path));
  ObjectPlace place{*store, std::move(url->key), std::nullopt};
  auto found = place.store->find(place.key);
  if (!found) return fail(found.error());
  place.there = std::move(*found);
  if (!place.there) return place;
  std::array<std::uint8_t, 4096> beginning{};
  const auto got = place.store->read_at(*place.there, 0, beginning);
  if (!got) return fail(got.error());
  place.is_index = is_index({reinterpret_cast<const char*>(beginning.data()), *got});
  return place;
}

// @return kExists where something else is there by now
Result<store::PutOutcome> put_index(const ObjectPlace& place, std::span<const std::uint8_t> bytes) {
  store::ObjectStore& store = *place.store;
  if (!place.there) return store.put(place.key, bytes, store::PutCondition::kIfAbsent);
  auto put = store.replace(*place.there, bytes);
  if (put || put.error().code() != StatusCode::kUnsupported) return put;
  static std::once_flag said;
  std::call_once(said, [&] {
    say(put.error().to_string() + "; what comes there between a look and a write is replaced");
  });
  return store.put(place.key, bytes, store::PutCondition::kNone);
}

Result<void> write_object(const std::string& path, const std::string& text,
                          dataset::StoreSet& stores) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  // Once more where something came meanwhile.
  constexpr int kMaxLooks = 3;
  for (int looks = 0; looks < kMaxLooks; ++looks) {
    const auto place = look_at_object(path, stores);
    if (!place) return fail(place.error());
    if (!place->may_be_replaced()) return fail(is_another_kind(path));
    const auto put = put_index(*place, bytes);
    if (!put) return fail(put.error());
    if (*put == store::PutOutcome::kStored) return {};
  }
  return fail(Status(StatusCode::kBusy, "comes and goes: another process writes it").about(path));
}

// Nothing where there is none, or it is larger than any index that is looked at.
Result<std::optional<std::string>> text_of(const std::string& path, dataset::StoreSet& stores) {
  constexpr std::size_t kMaxBytes = 256u << 20;
  std::string text;
  if (store::is_object_url(path)) {
    const auto place = look_at_object(path, stores);
    if (!place) return fail(place.error());
    if (!place->is_index || place->there->bytes > kMaxBytes) return std::nullopt;
    text.resize(place->there->bytes);
    const auto got = place->store->read_at(*place->there, 0, base::bytes_of(text));
    if (!got) return fail(got.error());
    text.resize(*got);
    return text;
  }
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return std::nullopt;
  auto read = base::read_text(file.get(), kMaxBytes + 1);
  if (!read) return fail(batch::io_error(path, "read", read.error()));
  if (read->size() > kMaxBytes) return std::nullopt;
  return std::move(*read);
}

}  // namespace

Result<bool> names_any(const std::string& path, const std::vector<std::string>& urls,
                       dataset::StoreSet& stores) {
  if (urls.empty()) return false;
  const auto text = text_of(path, stores);
  if (!text) return fail(text.error());
  if (!*text) return false;
  const auto json = nlohmann::json::parse(**text, nullptr, false);
  const auto shards = json.is_object() ? json.find("shardlist") : json.end();
  if (shards == json.end() || !shards->is_array()) return false;
  return std::ranges::any_of(*shards, [&](const nlohmann::json& shard) {
    const auto url = shard.is_object() ? shard.find("url") : shard.end();
    return url != shard.end() && url->is_string() &&
           std::ranges::find(urls, url->get_ref<const std::string&>()) != urls.end();
  });
}

// Not what only begins with the same letters: the first member of a shard may be called "v1.0".
bool is_index(std::string_view beginning) {
  if (begins_like_dali(beginning)) return true;
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && beginning[first] == '{' &&
         beginning.find("\"wids_version\"") != std::string_view::npos;
}

Result<void> check_index_place(const std::string& path, dataset::StoreSet& stores) {
  if (!store::is_object_url(path)) return check_replaceable(path, is_index);
  const auto place = look_at_object(path, stores);
  if (!place) return fail(place.error());
  if (!place->may_be_replaced()) return fail(is_another_kind(path));
  return {};
}

Result<void> write_index(const std::string& path, const std::string& text, bool make_folders,
                         dataset::StoreSet& stores) {
  if (store::is_object_url(path)) return write_object(path, text, stores);
  if (auto good = check_replaceable(path, is_index); !good) return good;
  const fs::path folder = fs::path(path).parent_path();
  if (make_folders && !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error && !fs::is_directory(folder)) {
      return fail(batch::io_error(folder, "make the folder", error.value()));
    }
  }
  return write_whole_file(path, text);
}

Result<bool> remove_index(const std::string& path, dataset::StoreSet& stores) {
  if (store::is_object_url(path)) {
    const auto place = look_at_object(path, stores);
    if (!place) return fail(place.error());
    if (!place->is_index) return false;
    if (auto removed = place->store->remove(place->key); !removed) return fail(removed.error());
    return true;
  }
  bool there = false;
  auto good = check_replaceable(path, [&](std::string_view beginning) {
    there = is_index(beginning);
    return true;
  });
  if (!good) return fail(good.error());
  if (!there) return false;
  std::error_code error;
  fs::remove(path, error);
  if (error) return fail(batch::io_error(path, "remove", error.value()));
  return true;
}

}  // namespace framewire::app
