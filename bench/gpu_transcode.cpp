// JPEG to smaller JPEG on the GPU: checks against libjpeg-turbo and the CPU codec, then times.
//
//   gpu_transcode check FILE…            coefficients bit for bit, streams decoded by libjpeg-turbo
//   gpu_transcode stages BATCH FILE…     one batch at a time on one stream, µs an image by stage
//   gpu_transcode latency REPEATS FILE…  one image at a time, µs from host bytes to host bytes
//   gpu_transcode rate BATCH THREADS SECONDS FILE…   images/s, host bytes to host bytes; parsing,
//                                        planning, gathering and both copies are inside the timing
// Options before the mode: --size WxH, --decode (planes in device memory, no output; with
// --scale 8|4|2|1), --quality N,
// --host-entropy (progressive files: the calling thread reads their coefficients),
// --write FOLDER (outputs of check), --tune KEY=VALUE (codec/cuda/tuning.hpp), also several times.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <base/clock.hpp>
#include <bench/gpu_check.hpp>
#include <codec/cuda/encode/output_header.hpp>
#include <codec/cuda/transcoder.hpp>
#include <codec/reference/reference_codec.hpp>
#include <codec/turbo/coefficient_reader.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <color/converter.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <jpeg/parser.hpp>
#include <jpeg/writer.hpp>
#include <string>
#include <thread>
#include <vector>

namespace framewire::bench {
namespace {

using codec::cuda::Item;
using codec::cuda::Transcoder;

struct Settings {
  ResizeOptions resize;
  codec::cuda::Tuning tuning;
  bool decode_only = false;
  bool host_entropy = false;
  int scale = 8;         ///< of decode_only, over 8
  std::string write_to;  ///< folder for the outputs of check; empty: none
  jpeg::ParseDepth depth = jpeg::ParseDepth::kThroughFirst;
};

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

/// Parsed and planned images; keeps what items point into.
class Batch {
 public:
  /// @return why not, if this codec does not take the file
  Result<void> add(const Bytes& bytes, const Settings& settings) {
    auto file = jpeg::parse(bytes, settings.resize.limits, settings.depth);
    if (!file) return fail(file.error());
    if (auto ok = jpeg::check_supported(*file); !ok) return ok;
    Entry entry{std::make_unique<jpeg::JpegFile>(std::move(*file)), nullptr, nullptr, nullptr};
    Item item;
    item.file = entry.file.get();
    if (settings.host_entropy && entry.file->frame.process == jpeg::Process::kProgressive) {
      codec::CodecOutcome outcome;
      auto read = codec::read_coefficients(*entry.file, {}, outcome);
      if (!read) return fail(read.error());
      entry.coefficients = std::make_unique<codec::Coefficients>(std::move(*read));
      item.coefficients = entry.coefficients.get();
    }
    item.scales.fill(settings.scale);
    if (!settings.decode_only) {
      const bool icc = settings.depth == jpeg::ParseDepth::kWhole &&
                       color::classify_profile(*entry.file) == color::ProfileUse::kConvertible;
      auto plan = plan::make_plan(*entry.file, settings.resize, {}, icc);
      if (!plan) return fail(plan.error());
      entry.plan = std::make_unique<plan::Plan>(std::move(*plan));
      item.plan = entry.plan.get();
      if (entry.plan->color_path == plan::ColorPath::kConvert) {
        auto converter =
            color::Converter::make(*entry.file, entry.plan->encode.model, entry.plan->convert_icc);
        if (!converter) return fail(converter.error());
        entry.converter = std::make_unique<color::Converter>(std::move(*converter));
        item.converter = entry.converter.get();
      }
      item.header = header_of(entry.plan->encode);
    }
    if (auto ok = codec::cuda::check_item(item); !ok) return ok;
    entries_.push_back(std::move(entry));
    items_.push_back(item);
    return {};
  }
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }
  void clear() { entries_.clear(), items_.clear(); }

 private:
  struct Entry {
    std::unique_ptr<jpeg::JpegFile> file;
    std::unique_ptr<plan::Plan> plan;
    std::unique_ptr<color::Converter> converter;
    std::unique_ptr<codec::Coefficients> coefficients;
  };
  struct Header {
    plan::EncodePlan encode;
    std::unique_ptr<Bytes> bytes;
  };

  std::span<const std::uint8_t> header_of(const plan::EncodePlan& encode) {
    for (const Header& header : headers_) {
      if (header.encode.width_px == encode.width_px &&
          header.encode.height_px == encode.height_px &&
          header.encode.component_count == encode.component_count && header.encode.h == encode.h &&
          header.encode.v == encode.v) {
        return *header.bytes;
      }
    }
    Header header{encode, std::make_unique<Bytes>()};
    jpeg::write_marker(*header.bytes, 0xD8);
    codec::cuda::append_output_header(encode, *header.bytes);
    headers_.push_back(std::move(header));
    return *headers_.back().bytes;
  }

  std::vector<Entry> entries_;
  std::vector<Item> items_;
  std::vector<Header> headers_;
};

void require(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "{}\n", result.error().to_string());
  std::exit(2);
}

Transcoder make_transcoder(bool timed, const Settings& settings) {
  auto transcoder = Transcoder::make(timed, settings.tuning);
  if (!transcoder) {
    fmt::print(stderr, "{}\n", transcoder.error().to_string());
    std::exit(3);
  }
  static const auto load = std::make_shared<codec::cuda::EntropyLoad>();
  transcoder->share({load, nullptr, nullptr, nullptr});
  return std::move(*transcoder);
}

/// Compares one finished stream with what the CPU codec writes; the lowest PSNR of its planes.
double compare_with_cpu(const Item& item, std::span<const std::uint8_t> ours, std::string& error) {
  static const auto cpu = codec::make_turbo_codec();
  Bytes theirs{0xFF, 0xD8};
  codec::CodecOutcome outcome;
  codec::Context context;
  context.converter = item.converter;
  if (auto ok = cpu->transcode(*item.file, *item.plan, context, theirs, outcome); !ok) {
    error = ok.error().to_string();
    return 0;
  }
  const auto a = read_planes(ours, error);
  const auto b = read_planes(theirs, error);
  double lowest = a.size() == b.size() ? 99 : -1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    lowest = std::min(lowest, psnr(a[i], b[i]));
  }
  return lowest;
}

/// Compares decoded planes with the reference codec's. @return the first sample that differs by
/// more than 1
std::string compare_planes(const Transcoder& transcoder, const Item& item, std::size_t image) {
  static const auto reference = codec::make_reference_codec();
  codec::CodecOutcome outcome;
  const auto planes = reference->decode(*item.file, item.scales, codec::Context{}, outcome);
  if (!planes) return planes.error().to_string();
  for (std::size_t c = 0; c < planes->planes.size(); ++c) {
    const codec::Plane& want = planes->planes[c];
    const DevicePlane got = transcoder.plane(image, c);
    const auto width = static_cast<std::size_t>(want.width_px);
    const auto height = static_cast<std::size_t>(want.height_px);
    if (got.width_px != want.width_px || got.height_px != want.height_px) {
      return fmt::format("plane {} is {}x{}, the reference's {}x{}", c, got.width_px, got.height_px,
                         width, height);
    }
    Bytes rows(width * height);
    (void)cudaMemcpy2D(rows.data(), width, got.samples, got.pitch_bytes, width, height,
                       cudaMemcpyDeviceToHost);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (std::abs(rows[k] - want.samples[k]) > 1) {
        return fmt::format("plane {} sample {},{}: {} instead of {}", c, k % width, k / width,
                           rows[k], want.samples[k]);
      }
    }
  }
  return {};
}

struct Tally {
  int checked = 0;
  int skipped = 0;
  int given_up = 0;
  int wrong = 0;
  double lowest_psnr = 99;
};

/// The file without markers behind the last scan, which decoders to samples do not look at.
Bytes through_last_scan(const jpeg::JpegFile& file) {
  const jpeg::Scan& last = file.scans.back();
  const std::size_t end = last.entropy_offset + last.entropy_bytes;
  Bytes bytes(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(end));
  if (end < file.bytes.size()) bytes.insert(bytes.end(), {0xFF, 0xD9});
  return bytes;
}

void check_image(const Transcoder& transcoder, const Item& item, std::size_t i,
                 const std::string& name, Tally& tally) {
  const codec::cuda::ImageResult result = transcoder.result(i);
  std::string error;
  long warnings = 0;
  const auto expected = read_coefficients(through_last_scan(*item.file), error, warnings);
  if (result.status != 0) {
    ++tally.given_up;
    if (error.empty() && warnings == 0) {
      fmt::print("{}: given up with status {}, though libjpeg has no complaint\n", name,
                 result.status);
      ++tally.wrong;
    }
    return;
  }
  ++tally.checked;
  std::string fault;
  if (!error.empty()) fault = "accepted, libjpeg says " + error;
  const std::size_t planes =
      item.plan != nullptr ? static_cast<std::size_t>(item.plan->plane_count) : expected.size();
  for (std::size_t c = 0; fault.empty() && c < planes; ++c) {
    const std::size_t component =
        item.plan != nullptr ? static_cast<std::size_t>(item.plan->planes[c].component) : c;
    fault = compare_coefficients(transcoder, i, c, expected[component]);
  }
  if (fault.empty() && item.plan == nullptr) fault = compare_planes(transcoder, item, i);
  if (fault.empty() && item.plan != nullptr) {
    long complaints = 0;
    const auto output = read_coefficients(result.bytes, fault, complaints);
    if (complaints != 0) fault = fmt::format("libjpeg warns {} times about the output", complaints);
    if (fault.empty()) {
      const double db = compare_with_cpu(item, result.bytes, fault);
      tally.lowest_psnr = std::min(tally.lowest_psnr, db);
      if (db < 30) fault = fmt::format("{:.1f} dB from the CPU codec's output", db);
    }
  }
  if (fault.empty()) return;
  ++tally.wrong;
  fmt::print("{}: {}\n", name, fault);
}

void write_output(const std::string& folder, const std::string& name,
                  const codec::cuda::ImageResult& result) {
  std::ofstream out(folder + "/" + name.substr(name.rfind('/') + 1), std::ios::binary);
  out.write(reinterpret_cast<const char*>(result.bytes.data()),
            static_cast<std::streamsize>(result.bytes.size()));
}

int check(const std::vector<std::string>& names, const Settings& given) {
  Settings settings = given;
  settings.depth = jpeg::ParseDepth::kWhole;
  Transcoder transcoder = make_transcoder(false, settings);
  Tally tally;
  constexpr std::size_t kBatch = 48;
  for (std::size_t begin = 0; begin < names.size(); begin += kBatch) {
    Batch batch;
    std::vector<std::string> taken;
    std::vector<std::unique_ptr<Bytes>> kept;
    for (std::size_t i = begin; i < std::min(names.size(), begin + kBatch); ++i) {
      kept.push_back(std::make_unique<Bytes>(read_file(names[i])));
      if (batch.add(*kept.back(), settings)) {
        taken.push_back(names[i]);
      } else {
        ++tally.skipped;
      }
    }
    if (taken.empty()) continue;
    require(transcoder.enqueue(batch.items()));
    require(transcoder.wait());
    for (std::size_t i = 0; i < taken.size(); ++i) {
      check_image(transcoder, batch.items()[i], i, taken[i], tally);
      if (!settings.write_to.empty()) {
        write_output(settings.write_to, taken[i], transcoder.result(i));
      }
    }
  }
  fmt::print(
      "check: {} right, {} wrong, {} given up to the CPU, {} not for this codec; lowest PSNR "
      "against the CPU codec {:.1f} dB\n",
      tally.checked, tally.wrong, tally.given_up, tally.skipped, tally.lowest_psnr);
  return tally.wrong == 0 ? 0 : 1;
}

int stages(std::size_t count, const std::vector<Bytes>& files, const Settings& settings) {
  Transcoder transcoder = make_transcoder(true, settings);
  constexpr int kRepeats = 11;
  std::array<std::vector<double>, codec::cuda::kStageCount> samples;
  Batch batch;
  for (std::size_t i = 0; i < count; ++i) require(batch.add(files[i % files.size()], settings));
  std::vector<double> host;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = base::Clock::now();
    require(transcoder.enqueue(batch.items()));
    host.push_back(base::elapsed_us(start));
    require(transcoder.wait());
    const auto times = transcoder.stage_us();
    if (!times || repeat < 2) continue;
    for (std::size_t s = 0; s < times->size(); ++s) samples[s].push_back((*times)[s]);
  }
  std::size_t failed = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    failed += transcoder.result(i).status != 0;
    bytes += transcoder.result(i).bytes.size();
  }
  double total = 0;
  std::string line;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].empty()) continue;
    std::nth_element(samples[s].begin(), samples[s].begin() + kRepeats / 2 - 1, samples[s].end());
    const double us = samples[s][kRepeats / 2 - 1] / static_cast<double>(count);
    if (s != 0) total += us;
    line += fmt::format("{} {:.3f}  ", to_string(static_cast<codec::cuda::Stage>(s)), us);
  }
  std::nth_element(host.begin(), host.begin() + kRepeats / 2, host.end());
  fmt::print(
      "stages, us an image, batch {}: {}| kernels {:.2f} = {:.0f} images/s; enqueue on host "
      "{:.2f}; {} given up, {} bytes out, {} MB on device\n",
      count, line, total, 1e6 / total, host[kRepeats / 2] / static_cast<double>(count), failed,
      bytes / count, transcoder.device_bytes() >> 20);
  return failed == 0 ? 0 : 1;
}

int rate(std::size_t count, int threads, double seconds, const std::vector<Bytes>& files,
         const Settings& settings) {
  std::atomic<long> images{0};
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  const auto work = [&](std::size_t offset) {
    Transcoder transcoder = make_transcoder(false, settings);
    Batch batch;
    for (bool warm = false;; warm = true) {
      batch.clear();
      for (std::size_t i = 0; i < count; ++i) {
        require(batch.add(files[(i + offset) % files.size()], settings));
      }
      require(transcoder.enqueue(batch.items()));
      require(transcoder.wait());
      if (transcoder.result(count - 1).status != 0) std::exit(4);
      if (!warm) {
        ++ready;
        while (!go) std::this_thread::yield();
      } else if (!stop) {
        images += static_cast<long>(count);
      } else {
        return;
      }
    }
  };
  std::vector<std::jthread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work, static_cast<std::size_t>(i) * 5);
  while (ready < threads) std::this_thread::yield();
  const auto start = base::Clock::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double took = base::elapsed_us(start) / 1e6;
  const long done = images;
  stop = true;
  pool.clear();
  fmt::print("rate, batch {} x {} threads: {:.0f} images/s\n", count, threads,
             static_cast<double>(done) / took);
  return 0;
}

/// One image at a time, host bytes to host bytes.
int latency(int repeats, const std::vector<Bytes>& files, const Settings& settings) {
  Transcoder transcoder = make_transcoder(false, settings);
  std::vector<double> times;
  Batch batch;
  for (int i = 0; i < repeats + 20; ++i) {
    const auto start = base::Clock::now();
    batch.clear();
    require(batch.add(files[static_cast<std::size_t>(i) % files.size()], settings));
    require(transcoder.enqueue(batch.items()));
    require(transcoder.wait());
    if (transcoder.result(0).status != 0) return 4;
    if (i >= 20) times.push_back(base::elapsed_us(start));
  }
  std::sort(times.begin(), times.end());
  const auto share = [&](double p) {
    return times[static_cast<std::size_t>(p * static_cast<double>(times.size() - 1))];
  };
  fmt::print("latency of one image: median {:.0f} us, 1 % under {:.0f}, 99 % under {:.0f}\n",
             share(0.5), share(0.01), share(0.99));
  return 0;
}

int run(std::vector<std::string> args) {
  Settings settings;
  settings.resize.quality = 90;
  settings.resize.resize = ResizeMode::kForce;
  settings.resize.restart_interval_mcus = 10;
  settings.resize.width_px = 480;
  settings.resize.height_px = 270;
  while (!args.empty() && args[0].starts_with("--")) {
    if (args[0] == "--decode") {
      settings.decode_only = true;
    } else if (args[0] == "--host-entropy") {
      settings.host_entropy = true;
    } else if (args[0] == "--scale") {
      settings.scale = std::stoi(args.at(1));
      args.erase(args.begin());
    } else if (args[0] == "--write") {
      settings.write_to = args.at(1);
      args.erase(args.begin());
    } else if (args[0] == "--tune") {
      if (auto ok = codec::cuda::tune(settings.tuning, args.at(1)); !ok) {
        fmt::print(stderr, "--tune: {}\n", ok.error().message());
        return 2;
      }
      args.erase(args.begin());
    } else if (auto ok = set_option(settings.resize, args[0].substr(2), args.at(1)); !ok) {
      fmt::print(stderr, "{}\n", ok.error().to_string());
      return 2;
    } else {
      args.erase(args.begin());
    }
    args.erase(args.begin());
  }
  const std::string mode = args.empty() ? "" : args[0];
  const std::size_t fixed = mode == "check"                         ? 1
                            : mode == "stages" || mode == "latency" ? 2
                            : mode == "rate"                        ? 4
                                                                    : 99;
  if (args.size() <= fixed) {
    fmt::print(stderr,
               "gpu_transcode [--decode] [--OPTION VALUE]… check|stages|latency|rate … FILE…\n");
    return 2;
  }
  const std::vector<std::string> names(args.begin() + static_cast<std::ptrdiff_t>(fixed),
                                       args.end());
  if (mode == "check") return check(names, settings);
  std::vector<Bytes> files;
  for (const std::string& name : names) files.push_back(read_file(name));
  const std::size_t count = std::stoul(args[1]);
  if (mode == "stages") return stages(count, files, settings);
  if (mode == "latency") return latency(static_cast<int>(count), files, settings);
  return rate(count, std::stoi(args[2]), std::stod(args[3]), files, settings);
}

}  // namespace
}  // namespace framewire::bench

int main(int argc, char** argv) {
  return framewire::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
