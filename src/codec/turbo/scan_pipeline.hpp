// The scans of one progressive file, read by several threads at once.
//
// Scans that describe the same component meet only in its blocks: a scan may read a row of MCUs
// once the scans before it have read that row. So the scans form a pipeline over the rows of a
// window, each some rows behind the one before. Whichever thread is free takes one row of the scan
// that is furthest behind; the largest scan therefore never waits for a thread. Measured in
// docs/decisions/0032-a-lone-progressive-file-on-several-threads.md.
#pragma once

#include <atomic>
#include <codec/helpers.hpp>
#include <codec/turbo/coefficient_band.hpp>
#include <codec/turbo/scan_cursor.hpp>
#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

namespace framewire::codec::turbo {

class ScanPipeline final : public SharedWork {
 public:
  /// Whether threads that help would make up for the time that calling them takes.
  [[nodiscard]] static bool pays_for(const jpeg::JpegFile& file);

  /// Invites helpers.
  /// @param cursors  at the start of each scan of the file, in its order; used until the end of
  /// this
  /// @param helpers  outlives this
  ScanPipeline(const jpeg::JpegFile& file, std::span<ScanCursor> cursors, Helpers& helpers);
  ~ScanPipeline();

  /// Waits for the next MCU row, and reads scans meanwhile. For one thread alone.
  /// @return the row, until the next call; null where the data is not clean
  [[nodiscard]] CoefficientBand* read();

  void help() noexcept override;

 private:
  /// How far a scan is.
  struct Progress {
    std::int32_t rows = 0;  ///< MCU rows of the frame that have been read
    bool taken = false;     ///< a thread reads the next one
    std::array<std::size_t, jpeg::kMaxComponents> after{};  ///< scans before this one, of its
    std::size_t after_count = 0;                            ///< components
  };
  using Lock = std::unique_lock<std::mutex>;

  void find_order(const jpeg::JpegFile& file);
  void free_returned();
  [[nodiscard]] bool is_ready(const Progress& scan) const;
  [[nodiscard]] Progress* take_furthest_behind();
  void read_row(Lock& lock, Progress& scan);
  [[nodiscard]] bool read_row(std::size_t scan, std::int32_t row);
  [[nodiscard]] bool spin(Lock& lock) const;
  [[nodiscard]] bool row_is_complete() const;
  [[nodiscard]] CoefficientBand& band(std::int32_t row) {
    return window_[static_cast<std::size_t>(row) % window_.size()];
  }

  const jpeg::FrameHeader& frame_;
  std::span<ScanCursor> cursors_;
  Helpers& helpers_;
  std::vector<CoefficientBand> window_;  ///< MCU row r is in element r modulo size
  bool returned_ = false;                ///< row `given_`, by the last read()
  mutable std::mutex mutex_;             ///< guards what follows
  std::condition_variable changed_;      ///< for read()
  std::vector<Progress> scans_;          ///< one a cursor
  std::int32_t given_ = 0;               ///< rows that read() has returned and are free again
  bool reader_sleeps_ = false;
  bool over_ = false;                      ///< not clean, or nobody wants the rest
  std::atomic<std::uint32_t> version_{0};  ///< of all of this, for a look without the lock
};

}  // namespace framewire::codec::turbo
