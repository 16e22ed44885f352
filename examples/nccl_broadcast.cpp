// nccl_broadcast PHOTO.jpg…: GPU 0 makes a training batch of the files, and NCCL gives it to all
// GPUs of this machine. NCCL and CUDA's driver are looked for at run time: what is missing is said.
#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <framewire/tensor.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// A shared library and its functions, by name.
class Library {
 public:
  Library(const char* name, const char* has) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      throw std::runtime_error(std::string(name) + " is not here; " + has);
    }
  }
  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
  }

 private:
  void* handle_;  // to the end of the process
};

// What of CUDA's driver this needs, as <cuda.h> declares it.
struct Cuda {
  using Context = struct ContextRecord*;
  using Stream = struct StreamRecord*;
  using Memory = unsigned long long;
  int (*init)(unsigned);
  int (*count)(int*);
  int (*retain)(Context*, int);
  int (*use)(Context);
  int (*allocate)(Memory*, std::size_t);
  int (*make_stream)(Stream*, unsigned);
  int (*wait)(Stream);
  int (*to_host)(void*, Memory, std::size_t);

  Cuda() {
    const Library library("libcuda.so.1", "it comes with NVIDIA's driver");
    library.find(init, "cuInit");
    library.find(count, "cuDeviceGetCount");
    library.find(retain, "cuDevicePrimaryCtxRetain");
    library.find(use, "cuCtxSetCurrent");
    library.find(allocate, "cuMemAlloc_v2");
    library.find(make_stream, "cuStreamCreate");
    library.find(wait, "cuStreamSynchronize");
    library.find(to_host, "cuMemcpyDtoH_v2");
  }
};

// What of NCCL this needs, as <nccl.h> of version 2 declares it.
struct Nccl {
  using Communicator = struct CommunicatorRecord*;
  static constexpr int kUint8 = 1;  // ncclUint8
  int (*init_all)(Communicator*, int, const int*);
  int (*begin_group)();
  int (*end_group)();
  int (*broadcast)(const void*, void*, std::size_t, int, int, Communicator, Cuda::Stream);
  int (*destroy)(Communicator);
  const char* (*text)(int);

  Nccl() {
    const Library library("libnccl.so.2",
                          "it comes with PyTorch (nvidia/nccl/lib; name that folder in "
                          "LD_LIBRARY_PATH) or as the package libnccl2");
    library.find(init_all, "ncclCommInitAll");
    library.find(begin_group, "ncclGroupStart");
    library.find(end_group, "ncclGroupEnd");
    library.find(broadcast, "ncclBroadcast");
    library.find(destroy, "ncclCommDestroy");
    library.find(text, "ncclGetErrorString");
  }
};

void check(int error, const char* what) {
  if (error == 0) return;
  throw std::runtime_error(std::string(what) + ": CUDA's error " + std::to_string(error));
}

// One GPU: its part in the broadcast, and the memory of its batch.
struct Gpu {
  Cuda::Context context = nullptr;
  Cuda::Stream stream = nullptr;
  Cuda::Memory batch = 0;
  Nccl::Communicator communicator = nullptr;
};

std::vector<Gpu> open_gpus(const Cuda& cuda, std::size_t bytes) {
  int count = 0;
  check(cuda.count(&count), "counting GPUs");
  if (count == 0) throw std::runtime_error("there is no GPU");
  std::vector<Gpu> gpus(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Gpu& gpu = gpus[static_cast<std::size_t>(i)];
    check(cuda.retain(&gpu.context, i), "opening a GPU");
    check(cuda.use(gpu.context), "choosing a GPU");
    check(cuda.make_stream(&gpu.stream, 1), "making a stream");  // CU_STREAM_NON_BLOCKING
    check(cuda.allocate(&gpu.batch, bytes), "allocating a batch");
  }
  return gpus;
}

// Sends the batch of the first GPU to all, and waits for it. NCCL works in the streams given.
void broadcast(const Cuda& cuda, const Nccl& nccl, const std::vector<Gpu>& gpus,
               std::size_t bytes) {
  const auto good = [&](int error) {
    if (error != 0) throw std::runtime_error(std::string("NCCL: ") + nccl.text(error));
  };
  good(nccl.begin_group());
  for (const Gpu& gpu : gpus) {
    void* const at = reinterpret_cast<void*>(gpu.batch);
    good(nccl.broadcast(at, at, bytes, Nccl::kUint8, 0, gpu.communicator, gpu.stream));
  }
  good(nccl.end_group());
  for (const Gpu& gpu : gpus) {
    check(cuda.use(gpu.context), "choosing a GPU");
    check(cuda.wait(gpu.stream), "the broadcast");
  }
}

int run(const std::vector<std::vector<std::uint8_t>>& files) {
  const Cuda cuda;
  check(cuda.init(0), "starting CUDA");
  const Nccl nccl;
  framewire::TensorOptions options;
  options.device = 0;
  options.width_px = options.height_px = 224;
  options.type = framewire::TensorType::kFloat16;
  auto decoder = framewire::TensorDecoder::make(options);
  if (!decoder) return std::cerr << decoder.error().to_string() << '\n', 1;
  std::vector<framewire::TensorItem> items;
  for (const auto& file : files) items.push_back({file});
  const std::size_t bytes = items.size() * decoder->image_bytes();

  std::vector<Gpu> gpus = open_gpus(cuda, bytes);
  std::vector<Nccl::Communicator> communicators(gpus.size());
  if (const int error =
          nccl.init_all(communicators.data(), static_cast<int>(gpus.size()), nullptr)) {
    throw std::runtime_error(std::string("NCCL: ") + nccl.text(error));
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].communicator = communicators[i];

  // The batch is there for every stream when this returns, so NCCL's needs no event.
  const auto done =
      decoder->decode_to_device(items, {reinterpret_cast<void*>(gpus[0].batch), bytes,
                                        framewire::CudaStream(gpus[0].stream), nullptr});
  if (!done) return std::cerr << done.error().to_string() << '\n', 1;

  double best_us = 1e30;
  for (int turn = 0; turn < 20; ++turn) {
    const auto began = std::chrono::steady_clock::now();
    broadcast(cuda, nccl, gpus, bytes);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    best_us = std::min(best_us, took.count());
  }
  std::vector<std::vector<std::uint8_t>> found;
  for (const Gpu& gpu : gpus) {
    found.emplace_back(bytes);
    check(cuda.use(gpu.context), "choosing a GPU");
    check(cuda.to_host(found.back().data(), gpu.batch, bytes), "reading a batch back");
    if (found.back() != found.front()) return std::cerr << "the batches differ\n", 1;
  }
  std::cout << items.size() << " images, " << bytes << " bytes, to " << gpus.size() << " GPUs in "
            << best_us << " µs\n";
  for (const Gpu& gpu : gpus) nccl.destroy(gpu.communicator);
  return 0;
}

}  // namespace

int main(int count, char** names) {
  std::vector<std::vector<std::uint8_t>> files;
  for (int i = 1; i < count; ++i) {
    std::ifstream in(names[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (files.empty()) return std::cerr << "usage: nccl_broadcast PHOTO.jpg…\n", 2;
  try {
    return run(files);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
