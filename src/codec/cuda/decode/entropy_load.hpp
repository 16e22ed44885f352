// How much entropy-coded data a device has to decode now, over all streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace framewire::codec::cuda {

/// The entropy-coded bytes of all batches under way on one device. Thread-safe.
class EntropyLoad {
 public:
  /// One batch's part; gives it back when it ends. Move-only.
  class Share {
   public:
    Share() = default;
    /// @param load  may be null: nobody counts
    Share(std::shared_ptr<EntropyLoad> load, std::uint64_t bytes)
        : load_(std::move(load)), bytes_(bytes) {
      total_ = bytes + (load_ == nullptr ? 0 : load_->bytes_.fetch_add(bytes));
    }
    ~Share() { release(); }
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept {
      release();
      load_ = std::exchange(other.load_, nullptr);
      bytes_ = other.bytes_;
      total_ = other.total_;
      return *this;
    }

    /// The bytes under way when this batch began, its own included.
    [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_; }

   private:
    void release() noexcept {
      if (const auto load = std::exchange(load_, nullptr)) load->bytes_ -= bytes_;
    }
    std::shared_ptr<EntropyLoad> load_;
    std::uint64_t bytes_ = 0;
    std::uint64_t total_ = 0;
  };

 private:
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace framewire::codec::cuda
