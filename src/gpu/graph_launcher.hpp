// Many small pieces of work handed to the driver as one.
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <functional>
#include <gpu/stream.hpp>
#include <memory>

namespace framewire::gpu {

namespace detail {
struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { (void)cudaGraphDestroy(graph); }
};
struct DestroyGraphExec {
  void operator()(cudaGraphExec_t exec) const noexcept { (void)cudaGraphExecDestroy(exec); }
};
}  // namespace detail

/// Records what is enqueued on a stream as a CUDA graph and launches that with one call. The
/// driver takes a lock of the whole process for each call that enqueues something, so that threads
/// with a stream each wait for one another: thirty calls a batch cost 110 µs of each other batch's
/// time. A graph like an earlier one, with other sizes, addresses or kernels, replaces that one's
/// parameters instead of being instantiated anew.
///
/// Measured (H200, 16 streams, 1920×1080 → 480×270, images/s by one call each and as a graph):
/// batches of 16 57,900 and 63,000; of 60 80,800 and 91,800; of 139 89,500 and 105,200.
/// Not thread-safe.
class GraphLauncher {
 public:
  /// @param enqueue  enqueues kernels, copies and memsets on `stream`, no events, and neither waits
  ///                 nor allocates; what it does on the host must be good for doing it again
  /// @return false where the driver could not make a graph of it: nothing was enqueued then, no
  ///         error is pending, and the caller calls `enqueue` itself. Failures of the work itself
  ///         show where the stream is synchronised
  [[nodiscard]] bool launch(const Stream& stream, const std::function<void()>& enqueue);

 private:
  using Graph = std::unique_ptr<CUgraph_st, detail::DestroyGraph>;
  using GraphExec = std::unique_ptr<CUgraphExec_st, detail::DestroyGraphExec>;
  /// Graphs of so many nodes differ in nothing that an update cannot change: all are chains.
  struct Chain {
    std::size_t nodes = 0;
    GraphExec exec;
  };
  /// A batch has one of a few chains, by which optional stages its images need.
  static constexpr std::size_t kMaxChains = 8;
  /// In a row, after which no more graphs are tried.
  static constexpr int kMaxFailures = 3;

  [[nodiscard]] Graph record(const Stream& stream, const std::function<void()>& enqueue) const;
  [[nodiscard]] cudaGraphExec_t executable(const Graph& graph);

  std::array<Chain, kMaxChains> chains_;
  std::size_t next_ = 0;  ///< to be replaced
  int failures_ = 0;
};

}  // namespace framewire::gpu
