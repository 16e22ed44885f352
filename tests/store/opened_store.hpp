// Stores for tests: keys that nobody has, and waits that are short.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <store/s3/s3_client.hpp>

namespace framewire::test {

using Variables = std::map<std::string, std::string>;

inline store::EnvironmentLookup environment_of(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

inline Variables test_keys() {
  return {{"AWS_ACCESS_KEY_ID", "AKTEST"}, {"AWS_SECRET_ACCESS_KEY", "SECRETTEST"}};
}

inline store::StoreTiming short_times() {
  store::StoreTiming timing;
  timing.connect = std::chrono::milliseconds(10'000);
  timing.stalled = std::chrono::seconds(10);
  timing.total = std::chrono::milliseconds(60'000);
  timing.first_wait = std::chrono::milliseconds(1);
  timing.max_wait = std::chrono::milliseconds(10);
  timing.max_retry_after = std::chrono::milliseconds(300);
  return timing;
}

inline Result<std::shared_ptr<store::ObjectStore>> try_open(
    const std::string& endpoint, store::StoreSettings settings = {},
    const store::StoreTiming& timing = short_times(), Variables variables = test_keys()) {
  settings.endpoint = endpoint;
  return store::s3::open_s3_store("photos", settings, timing, environment_of(std::move(variables)));
}

inline std::shared_ptr<store::ObjectStore> opened(const std::string& endpoint,
                                                  const store::StoreSettings& settings = {},
                                                  const store::StoreTiming& timing = short_times(),
                                                  Variables variables = test_keys()) {
  auto made = try_open(endpoint, settings, timing, std::move(variables));
  if (!made) throw std::runtime_error(made.error().to_string());
  return *made;
}

/// Bytes that differ from place to place.
inline std::string pattern(std::size_t bytes) {
  std::string made(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : made) {
    state = state * 1'664'525 + 1'013'904'223;
    c = static_cast<char>(state >> 24);
  }
  return made;
}

}  // namespace framewire::test
