// NVIDIA's nvJPEG through our interfaces, timed: the yardstick beside gpu_transcode.
//
//   gpu_nvjpeg decode BACKEND BATCH THREADS SECONDS FILE…
//       images/s, host bytes to full-size planes in device memory; parsing and check() are timed
//       too
//   gpu_nvjpeg encode WxH QUALITY BATCH THREADS SECONDS FILE…
//       images/s, planes in device memory (the files, resized) to host bytes; restart interval 0
//   gpu_nvjpeg latency BACKEND FILE…
//       one image at a time, µs, after a warm-up
// BACKEND: hardware, cuda or hybrid.
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/clock.hpp>
#include <bench/files.hpp>
#include <codec/nvjpeg/decoder.hpp>
#include <codec/nvjpeg/encoder.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <cstdio>
#include <cstdlib>
#include <framewire/options.hpp>
#include <functional>
#include <gpu/stream.hpp>
#include <jpeg/parser.hpp>
#include <memory>
#include <string>
#include <thread>

namespace framewire::bench {
namespace {

using codec::nvjpeg::Backend;
using codec::nvjpeg::NvjpegDecoder;
using codec::nvjpeg::NvjpegEncoder;
using Bytes = std::vector<std::uint8_t>;

template <typename T>
T require(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().to_string());
    std::exit(3);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Backend backend_of(const std::string& name) {
  for (const Backend backend : {Backend::kHardware, Backend::kCuda, Backend::kHybrid}) {
    if (to_string(backend) == name) return backend;
  }
  fmt::print(stderr, "'{}' is no backend; there are hardware, cuda and hybrid\n", name);
  std::exit(2);
}

/// Decodes batches of files that it parses itself; one thread.
class DecodeLoop {
 public:
  DecodeLoop(Backend backend, const std::vector<InputFile>& inputs)
      : inputs_(inputs),
        stream_(require(gpu::Stream::make())),
        decoder_(require(NvjpegDecoder::make(backend))) {}

  void batch(std::size_t count, std::size_t offset) {
    parsed_.clear();
    files_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes& bytes = inputs_[(i + offset) % inputs_.size()].bytes;
      parsed_.push_back(std::make_unique<jpeg::JpegFile>(
          require(jpeg::parse(bytes, Limits{}, jpeg::ParseDepth::kThroughFirst))));
      require(decoder_.check(*parsed_.back()));
      files_.push_back(parsed_.back().get());
    }
    require(decoder_.enqueue(files_, stream_.get()));
    require(stream_.synchronise());
    for (std::size_t i = 0; i < count; ++i) require(decoder_.status(i));
  }

  [[nodiscard]] const NvjpegDecoder& decoder() const { return decoder_; }
  [[nodiscard]] const gpu::Stream& stream() const { return stream_; }
  [[nodiscard]] const jpeg::JpegFile& file(std::size_t i) const { return *files_[i]; }

 private:
  const std::vector<InputFile>& inputs_;
  gpu::Stream stream_;
  NvjpegDecoder decoder_;
  std::vector<std::unique_ptr<jpeg::JpegFile>> parsed_;
  std::vector<const jpeg::JpegFile*> files_;
};

/// Calls what `make_worker(thread)` gave on each thread, once warm, for `seconds`.
/// @return calls a second
double rate_of(int threads, double seconds,
               const std::function<std::function<void()>(std::size_t)>& make_worker) {
  std::atomic<long> calls{0};
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::vector<std::jthread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      const auto work = make_worker(static_cast<std::size_t>(t));
      work();
      ++ready;
      while (!go) std::this_thread::yield();
      while (!stop) {
        work();
        if (!stop) ++calls;
      }
    });
  }
  while (ready < threads) std::this_thread::yield();
  const auto start = base::Clock::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double rate = static_cast<double>(calls) / (base::elapsed_us(start) / 1e6);
  stop = true;
  return rate;
}

int decode(const std::vector<std::string>& args) {
  const Backend backend = backend_of(args.at(1));
  const std::size_t count = std::stoul(args.at(2));
  const int threads = std::stoi(args.at(3));
  const auto inputs = read_inputs({args.begin() + 5, args.end()});
  std::atomic<unsigned> engines{0};
  const double rate = rate_of(threads, std::stod(args.at(4)), [&](std::size_t thread) {
    auto loop = std::make_shared<DecodeLoop>(backend, inputs);
    engines = loop->decoder().engines();
    return [loop, count, thread] { loop->batch(count, thread * 5); };
  });
  fmt::print("decode {} ({} engines), batch {} x {} threads: {:.0f} images/s\n", to_string(backend),
             engines.load(), count, threads, rate * static_cast<double>(count));
  return 0;
}

/// The inputs at the wanted size, as JPEGs of high quality from the CPU codec.
std::vector<InputFile> resized(const std::vector<InputFile>& inputs, const std::string& size) {
  ResizeOptions options;
  require(set_option(options, "size", size));
  require(set_option(options, "resize", "force"));
  options.quality = 98;
  const auto codec = codec::make_turbo_codec();
  std::vector<InputFile> outputs;
  for (const InputFile& input : inputs) {
    const auto file = require(jpeg::parse(input.bytes, options.limits));
    const auto plan = require(plan::make_plan(file, options, codec->capabilities(), false));
    codec::CodecOutcome outcome;
    Bytes bytes{0xFF, 0xD8};
    require(codec->transcode(file, plan, {}, bytes, outcome));
    outputs.push_back({input.name, std::move(bytes)});
  }
  return outputs;
}

/// Encodes the planes of one decoded batch again and again; one thread.
class EncodeLoop {
 public:
  EncodeLoop(const std::vector<InputFile>& inputs, std::size_t count, int quality)
      : source_(Backend::kHybrid, inputs), encoder_(require(NvjpegEncoder::make())) {
    source_.batch(count, 0);
    plans_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const jpeg::FrameHeader& frame = source_.file(i).frame;
      plan::EncodePlan& plan = plans_[i];
      plan.width_px = frame.width_px;
      plan.height_px = frame.height_px;
      plan.component_count = frame.component_count;
      plan.model =
          frame.component_count == 1 ? plan::OutputModel::kGray : plan::OutputModel::kYcbcr;
      plan.h[0] = frame.components[0].h;
      plan.v[0] = frame.components[0].v;
      plan.quality = quality;
      codec::nvjpeg::EncodeItem item{&plan, {}};
      for (std::size_t c = 0; c < static_cast<std::size_t>(frame.component_count); ++c) {
        item.planes[c] = source_.decoder().plane(i, c);
      }
      require(NvjpegEncoder::check(plan));
      items_.push_back(item);
    }
  }

  void batch() {
    require(encoder_.enqueue(items_, source_.stream().get()));
    require(encoder_.wait());
  }
  [[nodiscard]] std::size_t mean_bytes() const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) bytes += encoder_.stream(i).size();
    return bytes / items_.size();
  }

 private:
  DecodeLoop source_;
  NvjpegEncoder encoder_;
  std::vector<plan::EncodePlan> plans_;
  std::vector<codec::nvjpeg::EncodeItem> items_;
};

int encode(const std::vector<std::string>& args) {
  const int quality = std::stoi(args.at(2));
  const std::size_t count = std::stoul(args.at(3));
  const int threads = std::stoi(args.at(4));
  const auto inputs = resized(read_inputs({args.begin() + 6, args.end()}), args.at(1));
  std::atomic<std::size_t> bytes{0};
  const double rate = rate_of(threads, std::stod(args.at(5)), [&](std::size_t) {
    auto loop = std::make_shared<EncodeLoop>(inputs, count, quality);
    return [loop, &bytes] {
      loop->batch();
      bytes = loop->mean_bytes();
    };
  });
  fmt::print("encode {} q{}, batch {} x {} threads: {:.0f} images/s, {} bytes an image\n",
             args.at(1), quality, count, threads, rate * static_cast<double>(count), bytes.load());
  return 0;
}

int latency(const std::vector<std::string>& args) {
  constexpr int kRepeats = 400;
  const auto inputs = read_inputs({args.begin() + 2, args.end()});
  DecodeLoop loop(backend_of(args.at(1)), inputs);
  std::vector<double> us;
  for (int i = 0; i < kRepeats + 20; ++i) {
    const auto start = base::Clock::now();
    loop.batch(1, static_cast<std::size_t>(i));
    if (i >= 20) us.push_back(base::elapsed_us(start));
  }
  std::sort(us.begin(), us.end());
  fmt::print("latency {}: median {:.0f} µs, 5 % {:.0f}, 95 % {:.0f}\n", args.at(1),
             us[kRepeats / 2], us[kRepeats / 20], us[kRepeats - kRepeats / 20]);
  return 0;
}

int run(const std::vector<std::string>& args) {
  const std::string mode = args.empty() ? "" : args[0];
  if (mode == "decode" && args.size() > 5) return decode(args);
  if (mode == "encode" && args.size() > 6) return encode(args);
  if (mode == "latency" && args.size() > 2) return latency(args);
  fmt::print(stderr, "gpu_nvjpeg decode|encode|latency …; the source's head comment says what\n");
  return 2;
}

}  // namespace
}  // namespace framewire::bench

int main(int argc, char** argv) {
  return framewire::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
