#include <fmt/format.h>
#include <algorithm>
#include <command_line/misuse.hpp>
#include <commands/batch/objects.hpp>
#include <dataset/braces.hpp>
#include <dataset/named_objects.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_source.hpp>
#include <dataset/sample_key.hpp>
#include <utility>

namespace framewire::app {
namespace {

// A prefix as one that ends in '/'.
Result<std::string> prefix_of(const std::string& url) {
  const auto parsed = store::parse_object_url(url);
  if (!parsed) return misuse(parsed.error().to_string());
  std::string prefix = parsed->bucket + "/" + parsed->key;
  if (!prefix.ends_with('/')) prefix += '/';
  return prefix;
}

// All pictures below a name, rather than one of that name.
bool is_prefix(const std::vector<std::string>& inputs) {
  return inputs.size() == 1 && store::is_object_url(inputs[0]) &&
         inputs[0].find_first_of("*?{") == std::string::npos &&
         !dataset::named_like_jpeg(inputs[0]);
}

// What an output below a prefix could replace: an input that lies there.
Result<void> check_apart(const std::vector<std::string>& inputs, const std::string& output) {
  const auto out = prefix_of(output);
  if (!out) return fail(out.error());
  std::size_t left = dataset::kMaxExpandedNames;
  for (const std::string& word : inputs) {
    if (!store::is_object_url(word)) continue;
    const auto names = dataset::expand_braces(word, left);
    if (!names) return misuse(names.error().to_string());
    left -= names->size();
    for (const std::string& name : *names) {
      const auto url = store::parse_object_url(name);
      if (!url) return misuse(url.error().to_string());
      std::string in = url->bucket + "/" + url->key;
      const std::size_t wildcard = in.find_first_of("*?");
      if (is_prefix(inputs) && !in.ends_with('/')) in += '/';
      const bool many = is_prefix(inputs) || wildcard != std::string::npos;
      in.resize(std::min(in.size(), wildcard));
      if (!in.starts_with(*out) && !(many && out->starts_with(in))) continue;
      return misuse(
          fmt::format("{} and {} hold one another; accepted: prefixes that do not", word, output));
    }
  }
  return {};
}

// A server, or what stands before it, may read such parts as a file system does, and write where
// check_apart() did not look.
Result<void> check_parts(const std::string& place) {
  const auto url = store::parse_object_url(place);
  if (!url) return misuse(url.error().to_string());
  std::string_view key = url->key;
  while (!key.empty()) {
    const std::size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    if (part.empty() || part == "." || part == "..") {
      return misuse(
          fmt::format("{} has an empty part, or one that is . or ..; accepted: a prefix "
                      "without",
                      place));
    }
    if (slash == std::string_view::npos) break;
    key.remove_prefix(slash + 1);
  }
  return {};
}

Result<void> check_pictures(const std::vector<std::string>& inputs, const std::string& output) {
  if (std::ranges::none_of(inputs, store::is_remote_url)) return {};
  const auto file = std::ranges::find_if_not(inputs, store::is_remote_url);
  if (file != inputs.end()) {
    return misuse(
        fmt::format("{} is a file or folder, and other inputs lie elsewhere; accepted: "
                    "either",
                    *file));
  }
  return store::is_object_url(output) ? check_apart(inputs, output) : Result<void>();
}

}  // namespace

Result<void> check_objects(const Arguments& arguments, const std::vector<std::string>& inputs,
                           const std::string& output, bool shards) {
  const bool manifest = store::is_object_url(arguments.get("manifest"));
  for (const std::string& place : {output, arguments.get("manifest")}) {
    if (!store::is_web_url(place)) continue;
    return misuse(
        fmt::format("{}: web servers can only be read; accepted: a folder, or "
                    "s3://BUCKET/PREFIX/",
                    store::without_query(place)));
  }
  for (const std::string& place : {output, arguments.get("manifest")}) {
    if (!store::is_object_url(place)) continue;
    if (auto good = check_parts(place); !good) return good;
  }
  if (std::ranges::none_of(inputs, store::is_remote_url) && !store::is_object_url(output) &&
      !manifest) {
    return refuse_store_options(arguments);
  }
  if (arguments.has("in-place") && std::ranges::any_of(inputs, store::is_remote_url)) {
    return misuse(
        "--in-place replaces files, and the inputs are in a store or on a web server; accepted: "
        "without it");
  }
  if (store::is_object_url(output)) {
    for (const char* name : {"in-place", "mode", "durability"}) {
      if (!arguments.given.contains(name)) continue;
      return misuse(fmt::format("--{} is for output folders, and {} is in a store", name, output));
    }
  }
  const bool pack = arguments.has("pack");
  if (shards && !arguments.has("unpack")) return {};
  // Shards replace nothing, and are not named like pictures.
  if (pack) return check_pictures(inputs, "");
  if (shards) return {};
  return check_pictures(inputs, output);
}

bool are_named_objects(const std::vector<std::string>& inputs) {
  return std::ranges::any_of(inputs, store::is_remote_url) && !is_prefix(inputs);
}

Result<std::unique_ptr<batch::Source>> open_objects(const std::vector<std::string>& inputs,
                                                    const StoreChoice& stores,
                                                    std::uint64_t max_bytes,
                                                    std::function<bool(const std::string&)> wanted,
                                                    const std::atomic<bool>* stop) {
  if (!is_prefix(inputs)) {
    auto named = dataset::name_object_shards(inputs, *stores.stores);
    if (!named) return fail(named.error());
    return dataset::open_named_objects(std::move(*named), stores.stores, max_bytes);
  }
  auto where = dataset::open_prefix(inputs[0], *stores.stores);
  if (!where) return fail(where.error());
  dataset::ObjectSourceOptions options;
  options.reads_ahead = stores.settings.reads_in_flight;
  options.ahead_bytes = stores.memory_bytes;
  options.wanted = std::move(wanted);
  options.stop = stop;
  return dataset::open_object_source(std::move(*where), options);
}

std::function<Result<std::optional<dataset::Sidecar>>(const std::string&)> object_sidecars(
    const StoreChoice& stores) {
  return
      [set = stores.stores](const std::string& label) -> Result<std::optional<dataset::Sidecar>> {
        const auto url = store::parse_object_url(label);
        if (!url) return fail(url.error());
        const auto store = set->get(url->bucket);
        if (!store) return fail(store.error());
        return dataset::read_object_sidecar(**store, url->key);
      };
}

Result<std::unique_ptr<batch::Sink>> open_object_outputs(const std::string& url,
                                                         const StoreChoice& stores) {
  auto where = dataset::open_prefix(url, *stores.stores);
  if (!where) return fail(where.error());
  return dataset::open_object_sink(std::move(*where));
}

}  // namespace framewire::app
