#include <algorithm>
#include <chrono>
#include <gpu/graph_launcher.hpp>
#include <utility>

namespace framewire::gpu {

bool GraphLauncher::launch(const Stream& stream, const std::function<void()>& enqueue) {
  const bool may_instantiate = credit_us_ >= cost_us_;
  if ((instantiated_ != 0 || may_instantiate) && launch_as_graph(stream, enqueue)) return true;
  credit_us_ = std::max(credit_us_, std::min(credit_us_ + kEarned_us, kMaxCredit_us));
  return false;
}

bool GraphLauncher::launch_as_graph(const Stream& stream, const std::function<void()>& enqueue) {
  if (failures_ == kMaxFailures) return false;
  const Graph graph = record(stream, enqueue);
  if (graph != nullptr) {
    const cudaGraphExec_t exec = executable(graph);
    if (exec == nullptr && credit_us_ < cost_us_) return false;
    if (exec != nullptr && cudaGraphLaunch(exec, stream.get()) == cudaSuccess) {
      failures_ = 0;
      return true;
    }
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

/// @return null where one would have to be instantiated and does not pay, or cannot be
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
  }
  if (credit_us_ < cost_us_) return nullptr;
  if (chain == chains_.end()) {
    chain = chains_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ = (next_ + 1) % kMaxChains;
  }
  *chain = {};
  GraphExec exec = instantiate(graph);
  if (exec != nullptr) *chain = {nodes, std::move(exec)};
  return chain->exec.get();
}

GraphLauncher::GraphExec GraphLauncher::instantiate(const Graph& graph) {
  const auto start = std::chrono::steady_clock::now();
  cudaGraphExec_t exec = nullptr;
  if (cudaGraphInstantiate(&exec, graph.get(), 0) != cudaSuccess) return nullptr;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  credit_us_ -= cost_us_;
  cost_us_ = took.count();
  ++instantiated_;
  return GraphExec(exec);
}

}  // namespace framewire::gpu
