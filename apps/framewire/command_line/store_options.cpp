#include <fmt/format.h>
#include <algorithm>
#include <batch/input_error.hpp>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <command_line/store_options.hpp>
#include <dataset/braces.hpp>
#include <store/address.hpp>
#include <store/environment.hpp>

namespace framewire::app {

namespace {

// A wrong value is told by its option, once, before a store is asked for anything.
Result<void> check_settings(const store::StoreSettings& settings) {
  const auto named = [](const char* option, const Status& error) {
    return misuse(fmt::format("--{}: {} {}", option, error.subject(), error.message()));
  };
  if (!settings.endpoint.empty()) {
    if (auto good = store::check_endpoint(settings.endpoint); !good) {
      return named("endpoint", good.error());
    }
  }
  if (!settings.region.empty()) {
    if (auto good = store::check_region(settings.region); !good) {
      return named("region", good.error());
    }
  }
  if (settings.profile.empty()) return {};
  const auto profile = store::SharedProfile::load(settings.profile, store::process_environment);
  if (!profile) return named("profile", profile.error());
  return {};
}

}  // namespace

Result<StoreChoice> choose_stores(const Arguments& arguments) {
  constexpr unsigned kMaxRanges = 1024;
  constexpr std::uint64_t kMinMemoryBytes = 64u << 20;
  StoreChoice choice;
  choice.settings.endpoint = arguments.get("endpoint");
  choice.settings.region = arguments.get("region");
  choice.settings.profile = arguments.get("profile");
  if (auto good = check_settings(choice.settings); !good) return fail(good.error());
  if (arguments.has("path-style")) choice.settings.path_style = arguments.get("path-style") == "on";
  if (arguments.has("ranges")) {
    const std::string ranges = arguments.get("ranges");
    if (!parse_number(ranges, 1u, kMaxRanges, choice.settings.reads_in_flight)) {
      return misuse(fmt::format("--ranges: found '{}'; accepted: a whole number from 1 to {}",
                                ranges, kMaxRanges));
    }
  }
  if (arguments.has("store-memory")) {
    const std::string text = arguments.get("store-memory");
    const auto bytes = parse_memory("store-memory", text);
    if (!bytes) return fail(bytes.error());
    if (*bytes < kMinMemoryBytes) {
      return misuse(fmt::format("--store-memory: found '{}'; accepted: 64M or more", text));
    }
    choice.memory_bytes = *bytes;
  }
  choice.stores =
      std::make_shared<dataset::StoreSet>([settings = choice.settings](const std::string& bucket) {
        return store::open_store(bucket, settings);
      });
  return choice;
}

Result<void> check_stores(const StoreChoice& choice, const std::vector<std::string>& words) {
  const auto first = std::ranges::find_if(words, store::is_object_url);
  if (first == words.end()) return {};
  const auto names = dataset::expand_braces(*first);
  if (!names) return fail(names.error());
  const auto url = store::parse_object_url(names->front());
  if (!url) return fail(url.error());
  const auto store = choice.stores->get(url->bucket);
  if (!store) return fail(batch::about_label(store.error(), names->front()));
  return {};
}

Result<void> refuse_store_options(const Arguments& arguments) {
  for (const char* name :
       {"endpoint", "region", "profile", "path-style", "ranges", "store-memory"}) {
    if (arguments.given.contains(name)) {
      return misuse(fmt::format(
          "--{} is for object stores; accepted where a name begins with s3://, http:// or https://",
          name));
    }
  }
  return {};
}

}  // namespace framewire::app
