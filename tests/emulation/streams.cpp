#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <tests/emulation/streams.hpp>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// One lock for all: kernels of several streams do not run at the same time.
std::recursive_mutex& mutex() {
  static std::recursive_mutex one;
  return one;
}

struct Queue {
  std::deque<std::function<void()>> work;
  std::uint64_t enqueued = 0;
  std::uint64_t done = 0;

  bool step() {
    if (work.empty()) return false;
    const auto next = std::move(work.front());
    work.pop_front();
    next();
    ++done;
    return true;
  }
  void run_to(std::uint64_t position) {
    while (done < position && step()) {
    }
  }
};

/// Work on any of these is done at once.
bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

int current_device() {
  int device = 0;
  (void)cudaGetDevice(&device);
  return device;
}

}  // namespace

struct CUgraph_st {
  std::vector<std::function<void()>> nodes;
  std::vector<bool> is_copy;  ///< of each
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> nodes;
  std::vector<bool> is_copy;
};
struct CUstream_st {
  int device = current_device();
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
};
struct CUevent_st {
  int device = current_device();
  std::shared_ptr<Queue> queue;  ///< of the last record; null before
  std::uint64_t position = 0;
  std::shared_ptr<Clock::time_point> time = std::make_shared<Clock::time_point>();
};

namespace cuda_emulation {
namespace {

/// What the calling thread enqueues becomes a node of this graph; null: it is enqueued.
thread_local CUgraph_st* added_to = nullptr;

std::set<CUstream_st*>& streams() {
  static std::set<CUstream_st*> all;
  return all;
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  if (added_to != nullptr) {
    added_to->nodes.push_back(std::move(work));
    return cudaSuccess;
  }
  const std::lock_guard lock(mutex());
  if (is_default(stream)) {
    work();
    return cudaSuccess;
  }
  if (!streams().contains(stream)) return note(cudaErrorInvalidResourceHandle);
  stream->queue->work.push_back(std::move(work));
  ++stream->queue->enqueued;
  return cudaSuccess;
}

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                     std::size_t before_count, const std::function<cudaError_t()>& enqueue_it) {
  const std::size_t place = graph->nodes.size();
  const bool behind_the_last =
      before_count == 1 && *before == reinterpret_cast<cudaGraphNode_t>(place);
  if (before_count > 1 || (place == 0) != (before_count == 0) || (place != 0 && !behind_the_last)) {
    return note(cudaErrorInvalidValue);
  }
  struct Adding {
    explicit Adding(CUgraph_st* graph) { added_to = graph; }
    ~Adding() { added_to = nullptr; }
  };
  const Adding adding(graph);
  const cudaError_t error = enqueue_it();
  graph->is_copy.resize(graph->nodes.size(), false);  // of a kernel; copies say so
  *node = reinterpret_cast<cudaGraphNode_t>(graph->nodes.size());
  return error;
}

bool of_current_device(cudaStream_t stream) {
  return is_default(stream) || stream->device == current_device();
}

void run_everything() {
  const std::lock_guard lock(mutex());
  for (CUstream_st* stream : streams()) stream->queue->run_to(stream->queue->enqueued);
}

}  // namespace cuda_emulation

using cuda_emulation::note;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(mutex());
  *stream = new CUstream_st;
  cuda_emulation::streams().insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

// As cudaEventQuery() below.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::lock_guard lock(mutex());
  if (is_default(stream) || stream->queue->work.empty()) return cudaSuccess;
  stream->queue->step();
  return stream->queue->work.empty() ? cudaSuccess : note(cudaErrorNotReady);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  const std::lock_guard lock(mutex());
  if (is_default(stream)) return cudaGetDevice(device);
  if (!cuda_emulation::streams().contains(stream)) return note(cudaErrorInvalidResourceHandle);
  *device = stream->device;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (is_default(stream)) return note(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock(mutex());
  stream->queue->run_to(stream->queue->enqueued);
  cuda_emulation::streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(mutex());
  if (!is_default(stream)) stream->queue->run_to(stream->queue->enqueued);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  cuda_emulation::run_everything();
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(mutex());
  if (event->queue == nullptr) return cudaSuccess;
  return cuda_emulation::enqueue(
      stream, [queue = event->queue, position = event->position] { queue->run_to(position); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex());
  const int device = is_default(stream) ? current_device() : stream->device;
  if (device != event->device) return note(cudaErrorInvalidResourceHandle);
  const auto result =
      cuda_emulation::enqueue(stream, [time = event->time] { *time = Clock::now(); });
  if (result != cudaSuccess) return result;
  event->queue = is_default(stream) ? nullptr : stream->queue;
  event->position = is_default(stream) ? 0 : stream->queue->enqueued;
  return cudaSuccess;
}

// Each question does one piece of work, so that who asks again and again gets there.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(mutex());
  if (event->queue == nullptr || event->queue->done >= event->position) return cudaSuccess;
  event->queue->step();
  return event->queue->done >= event->position ? cudaSuccess : note(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(mutex());
  if (event->queue != nullptr) event->queue->run_to(event->position);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  if (cudaEventQuery(from) == cudaErrorNotReady || cudaEventQuery(to) == cudaErrorNotReady) {
    return cudaErrorNotReady;
  }
  *ms = std::chrono::duration<float, std::milli>(*to->time - *from->time).count();
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* before, std::size_t before_count,
                                     void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  const cudaError_t error = cuda_emulation::add_node(
      node, graph, before, before_count, [&] { return cudaMemcpyAsync(to, from, bytes, kind); });
  if (error == cudaSuccess && !graph->is_copy.empty()) graph->is_copy.back() = true;
  return error;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->nodes, graph->is_copy};
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo*) {
  if (exec->is_copy != graph->is_copy) return note(cudaErrorGraphExecUpdateFailure);
  exec->nodes = graph->nodes;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const auto& node : exec->nodes) {
    const cudaError_t error = cuda_emulation::enqueue(stream, node);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
