#include <gpu/graph_recording.hpp>

namespace framewire::gpu {
namespace {

thread_local GraphRecording* recording = nullptr;

}  // namespace

GraphRecording::GraphRecording() noexcept {
  cudaGraph_t graph = nullptr;
  error_ = cudaGraphCreate(&graph, 0);
  graph_.reset(graph);
  recording = this;
}

GraphRecording::~GraphRecording() { recording = nullptr; }

GraphRecording* GraphRecording::active() noexcept { return recording; }

void copy_async(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                cudaStream_t stream) {
  if (recording == nullptr) {
    (void)cudaMemcpyAsync(to, from, bytes, kind, stream);
    return;
  }
  recording->add(
      GraphRecording::NodeKind::kCopy, [&](cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* before, std::size_t count) {
        return cudaGraphAddMemcpyNode1D(node, graph, before, count, to, from, bytes, kind);
      });
}

}  // namespace framewire::gpu
