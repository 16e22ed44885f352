#include <algorithm>
#include <gpu/graph_launcher.hpp>

namespace framewire::gpu {

bool GraphLauncher::launch(const Stream& stream, const std::function<void()>& enqueue) {
  if (failures_ == kMaxFailures) return false;
  const Graph graph = record(stream, enqueue);
  const cudaGraphExec_t exec = graph == nullptr ? nullptr : executable(graph);
  if (exec != nullptr && cudaGraphLaunch(exec, stream.get()) == cudaSuccess) {
    failures_ = 0;
    return true;
  }
  ++failures_;
  (void)cudaGetLastError();
  return false;
}

GraphLauncher::Graph GraphLauncher::record(const Stream& stream,
                                           const std::function<void()>& enqueue) const {
  // Other threads go on using the device meanwhile.
  if (cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    return nullptr;
  }
  enqueue();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &graph);
  Graph owned(graph);
  // A launch that was refused while recording leaves its error behind.
  if (ended != cudaSuccess || cudaGetLastError() != cudaSuccess) return nullptr;
  return owned;
}

cudaGraphExec_t GraphLauncher::executable(const Graph& graph) {
  std::size_t nodes = 0;
  if (cudaGraphGetNodes(graph.get(), nullptr, &nodes) != cudaSuccess) return nullptr;
  auto chain = std::find_if(chains_.begin(), chains_.end(),
                            [&](const Chain& other) { return other.nodes == nodes; });
  if (chain != chains_.end()) {
    cudaGraphExecUpdateResultInfo why{};
    if (cudaGraphExecUpdate(chain->exec.get(), graph.get(), &why) == cudaSuccess) {
      return chain->exec.get();
    }
    (void)cudaGetLastError();
  } else {
    chain = chains_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ = (next_ + 1) % kMaxChains;
  }
  *chain = {};
  cudaGraphExec_t exec = nullptr;
  if (cudaGraphInstantiate(&exec, graph.get(), 0) != cudaSuccess) return nullptr;
  *chain = {nodes, GraphExec(exec)};
  return exec;
}

}  // namespace framewire::gpu
