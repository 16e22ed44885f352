#include <fmt/format.h>
#include <command_line/gpu_options.hpp>
#include <command_line/misuse.hpp>
#include <command_line/numbers.hpp>
#include <command_line/store_options.hpp>

namespace framewire::app {

Result<StoreChoice> choose_stores(const Arguments& arguments) {
  constexpr unsigned kMaxRanges = 1024;
  constexpr std::uint64_t kMinMemoryBytes = 64u << 20;
  StoreChoice choice;
  choice.settings.endpoint = arguments.get("endpoint");
  choice.settings.region = arguments.get("region");
  choice.settings.profile = arguments.get("profile");
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
