#include <fmt/format.h>
#include <algorithm>
#include <command_line/misuse.hpp>
#include <commands/batch/objects.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_source.hpp>
#include <utility>

namespace framewire::app {
namespace {

bool is_url(const std::string& name) { return store::is_object_url(name); }

// A prefix as one that ends in '/'.
Result<std::string> prefix_of(const std::string& url) {
  const auto parsed = store::parse_object_url(url);
  if (!parsed) return misuse(parsed.error().to_string());
  std::string prefix = parsed->bucket + "/" + parsed->key;
  if (!prefix.ends_with('/')) prefix += '/';
  return prefix;
}

Result<void> check_pictures(const std::vector<std::string>& inputs, const std::string& output) {
  if (std::ranges::none_of(inputs, is_url)) return {};
  if (inputs.size() > 1) {
    return misuse(
        "pictures of a store are those below one name; accepted: one s3://BUCKET/PREFIX/");
  }
  if (inputs[0].find_first_of("*?{") != std::string::npos) {
    return misuse(
        fmt::format("{}: braces and wildcards name tar shards; accepted of pictures: "
                    "s3://BUCKET/PREFIX/",
                    inputs[0]));
  }
  const auto in = prefix_of(inputs[0]);
  if (!in) return fail(in.error());
  if (!is_url(output)) return {};
  const auto out = prefix_of(output);
  if (!out) return fail(out.error());
  if (in->starts_with(*out) || out->starts_with(*in)) {
    return misuse(fmt::format("{} and {} hold one another; accepted: prefixes that do not",
                              inputs[0], output));
  }
  return {};
}

}  // namespace

Result<void> check_objects(const Arguments& arguments, const std::vector<std::string>& inputs,
                           const std::string& output, bool shards) {
  const bool manifest = is_url(arguments.get("manifest"));
  if (std::ranges::none_of(inputs, is_url) && !is_url(output) && !manifest) {
    return refuse_store_options(arguments);
  }
  if (is_url(output)) {
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

Result<std::unique_ptr<batch::Source>> open_objects(const std::string& url,
                                                    const StoreChoice& stores,
                                                    std::function<bool(const std::string&)> wanted) {
  auto where = dataset::open_prefix(url, *stores.stores);
  if (!where) return fail(where.error());
  dataset::ObjectSourceOptions options;
  options.reads_ahead = stores.settings.reads_in_flight;
  options.ahead_bytes = stores.memory_bytes;
  options.wanted = std::move(wanted);
  return dataset::open_object_source(std::move(*where), options);
}

Result<std::function<Result<std::optional<dataset::Sidecar>>(const std::string&)>> object_sidecars(
    const std::string& url, const StoreChoice& stores) {
  auto where = dataset::open_prefix(url, *stores.stores);
  if (!where) return fail(where.error());
  // A label is the store's own beginning, and a key as it is.
  const std::size_t beginning = where->store->label("").size();
  return [store = std::move(where->store), beginning](const std::string& label) {
    return dataset::read_object_sidecar(*store, label.substr(beginning));
  };
}

Result<std::unique_ptr<batch::Sink>> open_object_outputs(const std::string& url,
                                                         const StoreChoice& stores) {
  auto where = dataset::open_prefix(url, *stores.stores);
  if (!where) return fail(where.error());
  return dataset::open_object_sink(std::move(*where));
}

}  // namespace framewire::app
