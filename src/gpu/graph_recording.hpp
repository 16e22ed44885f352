// A CUDA graph made of the calls that would otherwise enqueue its work.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace framewire::gpu {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { (void)cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;

/// While an object lives, the calling thread's launch() and upload() (gpu/launch.hpp,
/// gpu/upload.hpp) and copy_async() add nodes to a graph, each behind the one before, and enqueue
/// nothing. Other calls of CUDA are not recorded.
///
/// Capturing a stream would record the same. But cudaStreamBeginCapture() waits until no other
/// thread is inside the driver, and who comes later waits for it: of the lanes of an engine on a
/// mix of files, on two H100s, each call took 4 ms in the median and 27 ms in the slowest tenth, a
/// quarter of the lanes' time.
class GraphRecording {
 public:
  enum class NodeKind : std::uint8_t { kKernel, kCopy };

  GraphRecording() noexcept;
  ~GraphRecording();
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  /// The calling thread's recording; null where there is none.
  [[nodiscard]] static GraphRecording* active() noexcept;

  /// Adds a node behind the last one.
  /// @param make  make(node, graph, before, before_count): cudaGraphAdd…Node() with what it needs
  template <typename Make>
  void add(NodeKind kind, Make make) {
    if (error_ != cudaSuccess) return;
    cudaGraphNode_t node = nullptr;
    error_ = make(&node, graph_.get(), &last_, nodes_ == 0 ? std::size_t{0} : std::size_t{1});
    last_ = node;
    ++nodes_;
    shape_ = shape_ * kShapeFactor + static_cast<std::uint64_t>(kind) + 1;
  }
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }
  /// Equal for graphs of the same kinds of nodes in the same order: an update can change the rest.
  [[nodiscard]] std::uint64_t shape() const noexcept { return shape_; }
  /// @return null where a node could not be added
  [[nodiscard]] Graph take() noexcept {
    return error_ == cudaSuccess ? std::move(graph_) : Graph();
  }

 private:
  Graph graph_;
  cudaGraphNode_t last_ = nullptr;
  static constexpr std::uint64_t kShapeFactor = 0x9E3779B97F4A7C15;  // odd, so that no node is lost

  std::size_t nodes_ = 0;
  std::uint64_t shape_ = 0;
  cudaError_t error_ = cudaSuccess;
};

/// cudaMemcpyAsync(), or a node of the calling thread's recording.
void copy_async(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                cudaStream_t stream);

}  // namespace framewire::gpu
