#include <algorithm>
#include <dataset/braces.hpp>
#include <dataset/object_names.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

namespace framewire::dataset {
namespace {

constexpr std::string_view kWildcards = "*?";

// "bucket/key"; of a web server without the query, which is no part of a name.
std::string path_of(const store::ObjectUrl& url, std::string_view key) {
  return std::string(store::without_query(url.bucket + "/" + std::string(key)));
}

// A web server lists nothing, and '?' begins its query.
std::size_t first_wildcard(const store::ObjectUrl& url) {
  return store::is_web_url(url.bucket) ? std::string::npos : url.key.find_first_of(kWildcards);
}

bool has_web_wildcard(const std::string& url) {
  return store::is_web_url(url) && store::without_query(url).find('*') != std::string::npos;
}

// Without the query, which may be a signature.
Status not_listed(const std::string& url, std::string_view why) {
  return Status(StatusCode::kInvalidInput,
                std::string(why) +
                    ", and web servers have no listing; accepted: whole names, or braces, such as "
                    "train-{000000..000009}.tar")
      .about(std::string(store::without_query(url)));
}

// That path up to and with the last '/' before a wildcard: what all shards of a URL lie below.
std::string folder_of(const store::ObjectUrl& url) {
  const std::string path = path_of(url, url.key.substr(0, first_wildcard(url)));
  return path.substr(0, path.rfind('/') + 1);
}

// The longest beginning that ends in '/', or nothing.
std::string common_beginning(const std::string& a, const std::string& b) {
  const auto length = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  if (length == 0) return {};
  const std::size_t slash = a.rfind('/', length - 1);
  return slash == std::string::npos ? std::string() : a.substr(0, slash + 1);
}

/// Gathers shards below one folder.
class Gatherer {
 public:
  explicit Gatherer(std::string folder) : folder_(std::move(folder)) {}

  Result<void> add(const std::string& label, const store::ObjectUrl& url, std::string key,
                   std::optional<store::ObjectInfo> object) {
    // A query may be a signature.
    const auto refuse = [&](StatusCode code, std::string_view why) {
      return fail(Status(code, std::string(why)).about(std::string(store::without_query(label))));
    };
    if (shards_.size() == kMaxExpandedNames) {
      return refuse(StatusCode::kTooLarge, "names more shards than fit into one batch");
    }
    std::string name = path_of(url, key).substr(folder_.size());
    if (!names_.insert(name).second) {
      return refuse(StatusCode::kInvalidInput, "is named twice");
    }
    shards_.push_back({label, std::move(name), std::move(object)});
    return {};
  }
  std::vector<NamedShard> take() { return std::move(shards_); }

 private:
  const std::string folder_;
  std::vector<NamedShard> shards_;
  std::unordered_set<std::string> names_;
};

Result<void> add_listed(const std::string& word, const store::ObjectUrl& url,
                        store::ObjectStore& store, Gatherer& shards) {
  const std::string prefix = url.key.substr(0, first_wildcard(url));
  Result<void> added;
  bool any = false;
  const auto listed = store.list(prefix, "", [&](const store::ObjectInfo& object) {
    if (!matches(url.key, object.key)) return true;
    any = true;
    added = shards.add(store.label(object.key), url, object.key, object);
    return added.has_value();
  });
  if (!listed) return fail(listed.error());
  if (added && !any) {
    return fail(Status(StatusCode::kInvalidInput, "matches no object").about(word));
  }
  return added;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view key) noexcept {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;  // the last one met, and how far it reaches
  std::size_t reach = 0;
  for (std::size_t i = 0; i < key.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      reach = i;
    } else if (at < pattern.size() &&
               (pattern[at] == key[i] || (pattern[at] == '?' && key[i] != '/'))) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos && key[reach] != '/') {
      at = star + 1;
      i = ++reach;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

Result<void> check_web_name(const std::string& word) {
  if (!store::is_web_url(word)) return {};
  // Others refuse what is no address, without the password that it may hold.
  const auto url = store::parse_object_url(word);
  if (!url) return {};
  if (has_web_wildcard(word)) return fail(not_listed(word, "has a wildcard"));
  if (!path_of(*url, url->key).ends_with('/')) return {};
  return fail(not_listed(word, "is the name of a folder"));
}

Result<std::vector<NamedShard>> name_object_shards(const std::vector<std::string>& urls,
                                                   StoreSet& stores) {
  std::vector<std::pair<std::string, store::ObjectUrl>> words;
  std::optional<std::string> folder;
  for (const std::string& url : urls) {
    auto names = expand_braces(url, kMaxExpandedNames - words.size());
    if (!names) return fail(names.error());
    for (std::string& name : *names) {
      auto parsed = store::parse_object_url(name);
      if (!parsed) return fail(parsed.error());
      if (has_web_wildcard(name)) return fail(not_listed(name, "has a wildcard"));
      const std::string below = folder_of(*parsed);
      folder = folder ? common_beginning(*folder, below) : below;
      words.emplace_back(std::move(name), std::move(*parsed));
    }
  }
  Gatherer shards(folder.value_or(""));
  for (const auto& [word, url] : words) {
    if (first_wildcard(url) == std::string::npos) {
      if (auto added = shards.add(word, url, url.key, std::nullopt); !added) {
        return fail(added.error());
      }
      continue;
    }
    const auto store = stores.get(url.bucket);
    if (!store) return fail(store.error());
    if (auto added = add_listed(word, url, **store, shards); !added) return fail(added.error());
  }
  return shards.take();
}

Result<ObjectPrefix> open_prefix(const std::string& url, StoreSet& stores) {
  auto parsed = store::parse_object_url(url);
  if (!parsed) return fail(parsed.error());
  auto store = stores.get(parsed->bucket);
  if (!store) return fail(store.error());
  if (!parsed->key.empty() && !parsed->key.ends_with('/')) parsed->key += '/';
  return ObjectPrefix{std::move(*store), std::move(parsed->key)};
}

}  // namespace framewire::dataset
