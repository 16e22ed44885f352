// A batch from memory to memory, as somebody else would write it: by the public header alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <framewire/batch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::batch {

using Bytes = std::vector<std::uint8_t>;

/// An object of a store: bytes under a key, and what the store says of them.
struct Object {
  std::string name;
  Bytes bytes;
  InputFacts facts{};
  bool expected = true;
};

/// Hands an object's bytes out in small pieces, as a network does.
class ObjectReader final : public OpenInput {
 public:
  ObjectReader(const Object& object, std::optional<std::size_t> fails_at)
      : object_(object), fails_at_(fails_at) {}
  [[nodiscard]] const InputFacts& facts() const noexcept override { return object_.facts; }
  [[nodiscard]] Result<std::size_t> read(std::span<std::uint8_t> into) override {
    constexpr std::size_t kPiece = 100;
    if (fails_at_ && at_ >= *fails_at_) return fail(StatusCode::kPeerLost, "connection reset");
    const std::size_t count = std::min({into.size(), kPiece, object_.bytes.size() - at_});
    std::copy_n(object_.bytes.begin() + static_cast<std::ptrdiff_t>(at_), count, into.begin());
    at_ += count;
    return count;
  }

 private:
  const Object& object_;
  const std::optional<std::size_t> fails_at_;
  std::size_t at_ = 0;
};

/// A listing of objects, with faults.
class MemorySource final : public Source {
 public:
  explicit MemorySource(const std::vector<Object>& objects) : objects_(objects) {}

  Result<std::optional<Input>> next() override {
    if (listing_fails_at == at_) return fail(StatusCode::kPeerLost, "no further page");
    if (listing_throws_at == at_) throw std::bad_alloc();
    if (at_ == objects_.size()) return std::nullopt;
    const Object& object = objects_[at_];
    Input input{"store://" + std::to_string(at_) + "/" + object.name, object.name, object.expected};
    if (unlistable.contains(at_)) input.error = Status(StatusCode::kIoError, "lost by the store");
    input.tag = at_++;
    return input;
  }
  Result<std::unique_ptr<OpenInput>> open(const Input& input) const override {
    if (opening_fails.contains(input.tag)) return fail(StatusCode::kDenied, "access denied");
    if (opening_throws.contains(input.tag)) throw std::runtime_error("surprise");
    if (opening_gives_nothing.contains(input.tag)) return std::unique_ptr<OpenInput>();
    const auto fails = reading_fails.find(input.tag);
    return std::make_unique<ObjectReader>(objects_[input.tag], fails == reading_fails.end()
                                                                   ? std::nullopt
                                                                   : std::optional(fails->second));
  }

  std::optional<std::size_t> listing_fails_at;
  std::optional<std::size_t> listing_throws_at;
  std::set<std::uint64_t> unlistable;
  std::set<std::uint64_t> opening_fails;
  std::set<std::uint64_t> opening_throws;
  std::set<std::uint64_t> opening_gives_nothing;
  std::map<std::uint64_t, std::size_t> reading_fails;  ///< after so many bytes

 private:
  const std::vector<Object>& objects_;
  std::size_t at_ = 0;
};

/// A store of outputs: one put each, with faults.
class MemorySink final : public Sink {
 public:
  using Fault = std::function<std::optional<WriteError>(const Output&)>;

  [[nodiscard]] std::string label(const std::string& name) const override {
    return "bucket/" + name;
  }
  [[nodiscard]] Result<void> begin(const BeginSink& begin) override {
    begun.push_back(begin.resumed);
    if (refuses) return fail(StatusCode::kDenied, "no such bucket");
    return {};
  }
  [[nodiscard]] Result<std::optional<std::uint64_t>> find(const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    ++asked;
    const auto found = objects.find(name);
    if (found == objects.end()) return std::nullopt;
    return found->second.size();
  }
  [[nodiscard]] WriteResult commit(const Output& output,
                                   std::span<const std::uint8_t> bytes) override {
    const int now = ++committing;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(takes);
    --committing;
    if (fault) {
      if (auto error = fault(output)) return tl::unexpected<WriteError>(std::move(*error));
    }
    const std::lock_guard lock(mutex_);
    objects[output.name] = Bytes(bytes.begin(), bytes.end());
    ++commits;
    return {};
  }
  [[nodiscard]] Result<void> finish() override {
    ++finished;
    if (end_fails) return fail(StatusCode::kIoError, "no room for the end");
    return {};
  }

  std::map<std::string, Bytes> objects;
  std::chrono::milliseconds takes{0};
  Fault fault;
  bool refuses = false;
  bool end_fails = false;
  std::vector<bool> begun;
  int finished = 0;
  int commits = 0;
  mutable int asked = 0;
  std::atomic<int> committing{0};
  std::atomic<int> most{0};  ///< at a time

 private:
  mutable std::mutex mutex_;
};

/// Rows as lines in memory.
class MemoryManifest final : public Manifest {
 public:
  /// @param earlier  lines of an earlier run; null: a new manifest
  explicit MemoryManifest(const std::vector<std::string>* earlier = nullptr) {
    if (earlier == nullptr) return;
    done_.emplace();
    for (const std::string& line : *earlier) {
      if (const auto row = parse_row(line)) done_->add(*row);
    }
    done_->seal();
  }
  [[nodiscard]] Result<void> append(const Row& row) override {
    const std::lock_guard lock(mutex_);
    if (lines.size() == room) return fail(StatusCode::kIoError, "the table is full");
    lines.push_back(to_json_line(row));
    return {};
  }
  [[nodiscard]] const DoneIndex* done() const noexcept override {
    return done_ ? &*done_ : nullptr;
  }

  std::vector<std::string> lines;
  std::size_t room = SIZE_MAX;

 private:
  std::mutex mutex_;
  std::optional<DoneIndex> done_;
};

}  // namespace framewire::batch
