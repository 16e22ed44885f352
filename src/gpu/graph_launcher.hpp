// Many small pieces of work handed to the driver as one.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gpu/graph_recording.hpp>
#include <gpu/stream.hpp>
#include <memory>

namespace framewire::gpu {

namespace detail {
struct DestroyGraphExec {
  void operator()(cudaGraphExec_t exec) const noexcept { (void)cudaGraphExecDestroy(exec); }
};
}  // namespace detail

/// Makes a CUDA graph of work for a stream and launches that with one call. The
/// driver takes a lock of the whole process for each call that enqueues something, so that threads
/// with a stream each wait for one another: thirty calls a batch cost 110 µs of each other batch's
/// time. A graph like an earlier one, with other sizes, addresses or kernels, replaces that one's
/// parameters instead of being instantiated anew.
///
/// Instantiating takes milliseconds, so a graph must be earned: by as many launches without one as
/// would have paid for it. Whatever comes, graphs then cost at most as much as they could save.
///
/// Measured (H200, 16 streams, 1920×1080 → 480×270, images/s by one call each and as a graph):
/// batches of 16 57,900 and 63,000; of 60 80,800 and 91,800; of 139 89,500 and 105,200.
/// Not thread-safe.
class GraphLauncher {
 public:
  /// @param credit_us  that may be spent on instantiating before anything has been earned
  explicit GraphLauncher(double credit_us = 0) : credit_us_(credit_us) {}

  /// @param enqueue  enqueues work on `stream` by launch(), upload() and copy_async() alone, and
  ///                 neither waits nor allocates; what it does on the host must be good for doing
  ///                 it again
  /// @return false where a graph does not pay yet, the driver could not make one of it, or an error
  ///         of an earlier call is pending, which stays pending: nothing was enqueued then, and the
  ///         caller calls `enqueue` itself. Failures of the work itself show where the stream is
  ///         synchronised
  [[nodiscard]] bool launch(const Stream& stream, const std::function<void()>& enqueue);
  /// How many graphs have been instantiated.
  [[nodiscard]] std::size_t instantiated() const noexcept { return instantiated_; }

 private:
  using GraphExec = std::unique_ptr<CUgraphExec_st, detail::DestroyGraphExec>;
  /// An instantiated graph. All graphs here are chains, so two with nodes of the same kinds differ
  /// only in what an update can change.
  struct Chain {
    std::uint64_t shape = 0;  ///< GraphRecording::shape()
    GraphExec exec;
  };
  /// What a launch without a graph earns: the time that it takes from other streams, as above.
  static constexpr double kEarned_us = 110;
  /// Bound on what is earned: a dozen graphs, so that new kinds of batches do not stall a stream.
  static constexpr double kMaxCredit_us = 50'000;
  /// Kept graphs. Batches differ by the optional stages that their images need.
  static constexpr std::size_t kMaxChains = 8;
  /// Failures in a row after which graphs are given up.
  static constexpr int kMaxFailures = 3;

  [[nodiscard]] bool can_pay() const noexcept { return credit_us_ >= cost_us_; }
  [[nodiscard]] Chain* find_updated(const Graph& graph, std::uint64_t shape);
  [[nodiscard]] Chain* instantiate(const Graph& graph, std::uint64_t shape);
  [[nodiscard]] bool earn() noexcept;
  [[nodiscard]] bool failed() noexcept;

  std::array<Chain, kMaxChains> chains_;
  std::size_t next_ = 0;  ///< the chain to replace where none has room
  int failures_ = 0;
  double credit_us_;
  double cost_us_ = 4000;  ///< of instantiating; measured on an H200, then as the last one took
  std::size_t instantiated_ = 0;
};

}  // namespace framewire::gpu
