#include <algorithm>
#include <chrono>
#include <gpu/experiments.hpp>
#include <gpu/graph_launcher.hpp>

namespace framewire::gpu {

bool GraphLauncher::launch(const Stream& stream, const std::function<void()>& enqueue) {
  if (experiments().no_graphs) return false;
  if (failures_ == kMaxFailures || cudaPeekAtLastError() != cudaSuccess) return false;
  // Recording is for nothing where no graph can come of it.
  if (instantiated_ == 0 && !can_pay()) return earn();
  Graph graph;
  std::uint64_t shape = 0;
  {
    GraphRecording recording;
    enqueue();
    if (recording.nodes() != 0) graph = recording.take();
    shape = recording.shape();
  }
  if (graph == nullptr) return failed();
  Chain* chain = find_updated(graph, shape);
  if (chain == nullptr && !can_pay()) return earn();
  if (chain == nullptr) chain = instantiate(graph, shape);
  if (chain == nullptr || cudaGraphLaunch(chain->exec.get(), stream.get()) != cudaSuccess) {
    return failed();
  }
  failures_ = 0;
  return true;
}

/// @return a kept chain that does what the graph does now; null where there is none
GraphLauncher::Chain* GraphLauncher::find_updated(const Graph& graph, std::uint64_t shape) {
  const auto chain = std::find_if(chains_.begin(), chains_.end(), [&](const Chain& other) {
    return other.exec != nullptr && other.shape == shape;
  });
  if (chain == chains_.end()) return nullptr;
  cudaGraphExecUpdateResultInfo why{};
  if (cudaGraphExecUpdate(chain->exec.get(), graph.get(), &why) == cudaSuccess) return &*chain;
  (void)cudaGetLastError();
  *chain = {};  // what a refused update leaves behind is undefined
  return nullptr;
}

GraphLauncher::Chain* GraphLauncher::instantiate(const Graph& graph, std::uint64_t shape) {
  const auto start = std::chrono::steady_clock::now();
  cudaGraphExec_t exec = nullptr;
  if (cudaGraphInstantiate(&exec, graph.get(), 0) != cudaSuccess) return nullptr;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  credit_us_ -= cost_us_;
  cost_us_ = took.count();
  ++instantiated_;
  auto chain = std::find_if(chains_.begin(), chains_.end(),
                            [](const Chain& other) { return other.exec == nullptr; });
  if (chain == chains_.end()) {
    chain = chains_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ = (next_ + 1) % kMaxChains;
  }
  *chain = {shape, GraphExec(exec)};
  return &*chain;
}

// What goes without a graph pays for one to come. @return false, for launch()
bool GraphLauncher::earn() noexcept {
  credit_us_ = std::max(credit_us_, std::min(credit_us_ + kEarned_us, kMaxCredit_us));
  return false;
}

// The caller enqueues by itself, and meets whatever was wrong with the work again.
// @return false, for launch()
bool GraphLauncher::failed() noexcept {
  ++failures_;
  (void)cudaGetLastError();
  return false;
}

}  // namespace framewire::gpu
