#include <algorithm>
#include <chrono>
#include <codec/turbo/scan_pipeline.hpp>
#include <thread>

namespace framewire::codec::turbo {
namespace {

/// Rows of the window: enough for each of a usual file's scans to be a row behind the one before,
/// and for the threads to be out of step.
constexpr std::size_t kMaxRows = 16;
constexpr std::size_t kMinRows = 4;
constexpr std::size_t kMaxWindowBytes = 8u << 20;  ///< wider pictures get fewer rows

/// Threads beside the caller's: more find nothing to do, since the largest scan is a chain.
constexpr std::size_t kMaxHelpers = 4;

/// Entropy bytes below which a thread alone is done before others have woken up.
constexpr std::size_t kMinBytes = 32u << 10;
/// Who looks for work looks at every scan; files with more of them are small or not real.
constexpr std::size_t kMaxPipelineScans = 32;

/// A row of a scan takes tens of microseconds; to be woken takes some 50.
constexpr std::chrono::microseconds kSpin{100};
/// How often in a row a helper looks in vain before it goes.
constexpr int kHelperLooks = 10;

std::size_t band_bytes(const jpeg::FrameHeader& frame) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    blocks += static_cast<std::size_t>(frame.components[i].h * frame.components[i].v);
  }
  return blocks * static_cast<std::size_t>(frame.mcu_columns) *
         (sizeof(CoefficientBlock) + sizeof(std::uint64_t));
}

std::size_t window_rows(const jpeg::FrameHeader& frame) {
  const std::size_t rows = std::clamp(kMaxWindowBytes / band_bytes(frame), kMinRows, kMaxRows);
  return std::min(rows, static_cast<std::size_t>(frame.mcu_rows));
}

}  // namespace

bool ScanPipeline::pays_for(const jpeg::JpegFile& file) {
  if (file.frame.process != jpeg::Process::kProgressive || file.scans.size() < 2 ||
      file.scans.size() > kMaxPipelineScans || file.frame.mcu_rows < 2) {
    return false;
  }
  std::size_t bytes = 0;
  for (const jpeg::Scan& scan : file.scans) bytes += scan.entropy_bytes;
  return bytes >= kMinBytes;
}

ScanPipeline::ScanPipeline(const jpeg::JpegFile& file, std::span<ScanCursor> cursors,
                           Helpers& helpers)
    : frame_(file.frame), cursors_(cursors), helpers_(helpers), scans_(cursors.size()) {
  const std::size_t rows = window_rows(frame_);
  window_.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) window_.emplace_back(frame_, frame_.mcu_columns);
  find_order(file);
  helpers_.invite(*this, std::min(kMaxHelpers, cursors_.size() - 1));
}

ScanPipeline::~ScanPipeline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  helpers_.dismiss(*this);
}

/// The nearest scan before is enough for each component: that one follows those before it.
void ScanPipeline::find_order(const jpeg::JpegFile& file) {
  std::array<std::size_t, jpeg::kMaxComponents> last;
  last.fill(scans_.size());
  for (std::size_t i = 0; i < scans_.size(); ++i) {
    const jpeg::Scan& scan = file.scans[i];
    for (std::size_t c = 0; c < static_cast<std::size_t>(scan.component_count); ++c) {
      std::size_t& before = last[scan.component[c]];
      if (before != scans_.size()) scans_[i].after[scans_[i].after_count++] = before;
      before = i;
    }
  }
}

bool ScanPipeline::is_ready(const Progress& scan) const {
  if (scan.taken || scan.rows == frame_.mcu_rows) return false;
  if (scan.rows - given_ >= static_cast<std::int32_t>(window_.size())) return false;
  return std::all_of(scan.after.begin(),
                     scan.after.begin() + static_cast<std::ptrdiff_t>(scan.after_count),
                     [&](std::size_t before) { return scans_[before].rows > scan.rows; });
}

/// As long as no other thread reads, there is one: the first of the scans with the fewest rows
/// waits for nothing.
ScanPipeline::Progress* ScanPipeline::take_furthest_behind() {
  Progress* found = nullptr;
  for (Progress& scan : scans_) {
    if ((found == nullptr || scan.rows < found->rows) && is_ready(scan)) found = &scan;
  }
  if (found != nullptr) found->taken = true;
  return found;
}

bool ScanPipeline::read_row(std::size_t scan, std::int32_t row) {
  ScanCursor& cursor = cursors_[scan];
  const int rows = cursor.rows_in_band(row);
  for (int r = 0; r < rows; ++r) {
    if (!cursor.read(band(row), r, cursor.mcus_in_row())) return false;
  }
  return row + 1 < frame_.mcu_rows || !cursor.is_in_run();
}

/// Reads one row of a scan that this thread has taken. The lock is held before and after.
void ScanPipeline::read_row(Lock& lock, Progress& scan) {
  const auto index = static_cast<std::size_t>(&scan - scans_.data());
  const std::int32_t row = scan.rows;
  lock.unlock();
  const bool clean = read_row(index, row);
  lock.lock();
  scan.taken = false;
  ++scan.rows;
  if (!clean) over_ = true;
  version_.fetch_add(1, std::memory_order_release);
  if (reader_sleeps_) changed_.notify_one();
}

bool ScanPipeline::row_is_complete() const {
  return std::ranges::all_of(scans_, [&](const Progress& scan) { return scan.rows > given_; });
}

/// Looks for a change without the lock. @return whether there was one in that time
bool ScanPipeline::spin(Lock& lock) const {
  const std::uint32_t seen = version_.load(std::memory_order_relaxed);
  lock.unlock();
  const auto until = std::chrono::steady_clock::now() + kSpin;
  bool changed = false;
  while (!changed && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    changed = version_.load(std::memory_order_acquire) != seen;
  }
  lock.lock();
  return changed || version_.load(std::memory_order_relaxed) != seen;
}

void ScanPipeline::free_returned() {
  if (!returned_) return;
  band(given_).clear();
  returned_ = false;
  const std::lock_guard lock(mutex_);
  ++given_;
  version_.fetch_add(1, std::memory_order_release);
}

CoefficientBand* ScanPipeline::read() {
  free_returned();
  Lock lock(mutex_);
  while (!over_ && !row_is_complete()) {
    if (Progress* scan = take_furthest_behind()) {
      read_row(lock, *scan);
    } else if (!spin(lock)) {
      const std::uint32_t seen = version_.load(std::memory_order_relaxed);
      reader_sleeps_ = true;
      changed_.wait(lock, [&] { return version_.load(std::memory_order_relaxed) != seen; });
      reader_sleeps_ = false;
    }
  }
  if (over_) return nullptr;
  returned_ = true;
  return &band(given_);
}

void ScanPipeline::help() noexcept {
  Lock lock(mutex_);
  int in_vain = 0;
  while (!over_ && !helpers_.wanted_elsewhere()) {
    if (Progress* scan = take_furthest_behind()) {
      read_row(lock, *scan);
      in_vain = 0;
    } else if (!spin(lock) && ++in_vain == kHelperLooks) {
      return;
    }
  }
}

}  // namespace framewire::codec::turbo
