// A cache in a folder of the test's, and waiting for what it does aside.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <service/cache/disk_cache.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>
#include <vector>

namespace framewire::service::cache::test {

/// Waits until it is so. @return false after a minute
template <typename So>
[[nodiscard]] bool eventually(const So& so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline Key key_of(std::string_view text) {
  const std::string_view texts[] = {text};
  return make_key(texts).value();
}

inline std::string text_of(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class TestCache {
 public:
  explicit TestCache(CacheSettings settings = {}) : settings_(std::move(settings)) {
    if (settings_.folder.empty()) settings_.folder = (folder_.path() / "cache").string();
    start();
  }

  void start() {
    cache_.reset();
    auto opened = DiskCache::open(settings_, [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    });
    if (!opened) throw std::runtime_error(opened.error().to_string());
    cache_ = std::move(*opened);
  }
  void stop() { cache_.reset(); }

  [[nodiscard]] DiskCache& operator*() { return *cache_; }
  [[nodiscard]] DiskCache* operator->() { return cache_.get(); }
  [[nodiscard]] CacheSettings& settings() { return settings_; }

  void keep(std::string_view name, std::string_view body, std::string_view head = "head") {
    auto bytes = std::make_shared<std::string>(body);
    const std::span<const std::uint8_t> view(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                             bytes->size());
    cache_->keep({key_of(name), std::string(head), view, bytes});
  }
  /// Keeps it, and waits until it is there.
  [[nodiscard]] bool kept(std::string_view name, std::string_view body) {
    const std::uint64_t before = cache_->stats().written;
    keep(name, body);
    return eventually([&] { return cache_->stats().written > before; });
  }
  /// The body; "(none)" where it is not found.
  [[nodiscard]] std::string find(std::string_view name) {
    const auto found = cache_->find(key_of(name));
    return found ? text_of(found->body) : "(none)";
  }
  [[nodiscard]] std::filesystem::path file_of(std::string_view name) const {
    const std::string text = to_text(name_of(key_of(name)));
    return std::filesystem::path(settings_.folder) / text.substr(0, 2) / text;
  }
  [[nodiscard]] std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// Files below the folder.
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    std::error_code ignored;
    using Walk = std::filesystem::recursive_directory_iterator;
    for (Walk at(settings_.folder, ignored), end; at != end; at.increment(ignored)) {
      count += at->is_directory(ignored) ? 0 : 1;
    }
    return count;
  }

 private:
  service::test::TemporaryFolder folder_;
  CacheSettings settings_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<DiskCache> cache_;
};

}  // namespace framewire::service::cache::test
