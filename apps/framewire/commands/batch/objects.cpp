#include <fmt/format.h>
#include <algorithm>
#include <command_line/misuse.hpp>
#include <commands/batch/objects.hpp>
#include <dataset/object_names.hpp>
#include <dataset/object_source.hpp>

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
  if (std::ranges::none_of(inputs, is_url) && !is_url(output)) {
    return refuse_store_options(arguments);
  }
  for (const char* name : {"pack", "unpack"}) {
    if (arguments.has(name)) {
      return misuse(
          fmt::format("--{} is for files and folders, and a name begins with s3://", name));
    }
  }
  if (is_url(output)) {
    for (const char* name : {"in-place", "mode", "durability"}) {
      if (!arguments.given.contains(name)) continue;
      return misuse(fmt::format("--{} is for output folders, and {} is in a store", name, output));
    }
  }
  if (shards) return {};
  const std::string manifest = arguments.get("manifest");
  if (is_url(manifest)) {
    return misuse(
        fmt::format("--manifest {}: rows of pictures are appended, which stores cannot do; "
                    "accepted: a file",
                    manifest));
  }
  return check_pictures(inputs, output);
}

Result<std::unique_ptr<batch::Source>> open_objects(const std::string& url,
                                                    const StoreChoice& stores,
                                                    const batch::DoneIndex* done,
                                                    const std::atomic<bool>* stop) {
  auto where = dataset::open_prefix(url, *stores.stores);
  if (!where) return fail(where.error());
  dataset::ObjectSourceOptions options;
  options.reads_ahead = stores.settings.reads_in_flight;
  options.ahead_bytes = stores.memory_bytes;
  options.done = done;
  options.stop = stop;
  return dataset::open_object_source(std::move(*where), options);
}

Result<std::unique_ptr<batch::Sink>> open_object_outputs(const std::string& url,
                                                         const StoreChoice& stores) {
  auto where = dataset::open_prefix(url, *stores.stores);
  if (!where) return fail(where.error());
  return dataset::open_object_sink(std::move(*where));
}

}  // namespace framewire::app
