// How figures are told: one table of names, and Prometheus' text format.
#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>
#include <algorithm>
#include <framewire/version.hpp>
#include <fstream>
#include <limits>
#include <new>
#include <service/http/metrics.hpp>
#include <service/http/shared_state.hpp>
#include <sstream>
#include <vector>

namespace framewire::service::http {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Text = std::string_view;

constexpr Text kSpanNames[] = {"queue", "fetch", "decode", "encode", "send"};
static_assert(std::size(kSpanNames) == enum_index(RequestSpan::kCount));
constexpr Text kReasonNames[] = {"gpu_memory", "colour", "scans", "unsupported", "other"};
static_assert(std::size(kReasonNames) == enum_index(FallbackReason::kCount));
constexpr Text kTransportNames[] = {"local", "stream", "ucx-rdma"};
static_assert(std::size(kTransportNames) == enum_index(ClientTransport::kCount));
constexpr Text kFromNames[] = {"cuda", "nvjpeg"};
constexpr Text kToNames[] = {"turbo", "reference"};

/// What is read once for all metrics of a scrape.
struct Scrape {
  const SharedState& shared;
  const Metrics& metrics;
  ClientAdmission::Usage usage;
  EngineStats engine;
  cache::Stats cache{};
  std::uint64_t images = 0;  ///< with the engine now
  unsigned workers = 0;
  WorkerFigures processes{};
  std::vector<EngineDevice> devices{};
};

struct Label {
  Text name;
  Text value;
};
using Labels = std::initializer_list<Label>;

/// Collects the values of one metric.
class MetricValues {
 public:
  explicit MetricValues(MetricFamily& family) : family_(family) {}

  template <typename Number>
  void add(Number value, Labels labels = {}) {
    ClientMetric& metric = begin(labels);
    metric.counter.value = metric.gauge.value = static_cast<double>(value);
  }
  void add(const DurationHistogram& from, Labels labels = {}) {
    ClientMetric::Histogram& told = begin(labels).histogram;
    // The sum first: what is counted meanwhile may miss in it, never in the buckets.
    told.sample_sum = from.sum_s();
    for (std::size_t i = 0; i <= DurationHistogram::kBounds.size(); ++i) {
      told.sample_count += from.bucket(i);
      const bool last = i == DurationHistogram::kBounds.size();
      told.bucket.push_back({told.sample_count, last ? std::numeric_limits<double>::infinity()
                                                     : DurationHistogram::kBounds[i]});
    }
  }
  void add_summary(std::uint64_t count, std::uint64_t sum) {
    ClientMetric::Summary& told = begin({}).summary;
    told.sample_count = count;
    told.sample_sum = static_cast<double>(sum);
  }

 private:
  ClientMetric& begin(Labels labels) {
    ClientMetric& metric = family_.metric.emplace_back();
    for (const Label& label : labels) {
      metric.label.push_back({std::string(label.name), std::string(label.value)});
    }
    return metric;
  }

  MetricFamily& family_;
};

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident_pages = 0;
  file >> pages >> resident_pages;
  return file ? resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

// Status codes that were never sent are left out: what remains is what a person wants to see.
void add_statuses(const Scrape& from, MetricValues& to) {
  for (std::size_t i = 0; i < from.metrics.statuses.size(); ++i) {
    const std::uint64_t count = from.metrics.statuses[i].value();
    if (count == 0) continue;
    const std::string name = i < Metrics::kCodes.size()
                                 ? fmt::format("{}", static_cast<unsigned>(Metrics::kCodes[i]))
                                 : "other";
    to.add(count, {{"status", name}});
  }
}

void add_errors(const Scrape& from, MetricValues& to) {
  for (std::size_t i = 1; i < from.metrics.errors.size(); ++i) {
    to.add(from.metrics.errors[i].value(), {{"type", to_string(static_cast<ErrorType>(i))}});
  }
}

void add_rejected(const Scrape& from, MetricValues& to) {
  to.add(from.usage.queue_full, {{"reason", "queue_full"}});
  to.add(from.usage.over_budget, {{"reason", "over_budget"}});
  to.add(from.usage.client_share, {{"reason", "client_share"}});
  to.add(from.metrics.refused_connections.value(), {{"reason", "connections"}});
}

void add_fallbacks(const Scrape& from, MetricValues& to) {
  for (std::size_t f = 0; f < std::size(kFromNames); ++f) {
    for (std::size_t t = 0; t < std::size(kToNames); ++t) {
      for (std::size_t r = 0; r < std::size(kReasonNames); ++r) {
        const std::uint64_t count = from.metrics.fallbacks[f][t][r].value();
        if (count == 0) continue;
        to.add(count, {{"from", kFromNames[f]}, {"to", kToNames[t]}, {"reason", kReasonNames[r]}});
      }
    }
  }
}

void add_spans(const Scrape& from, MetricValues& to) {
  for (std::size_t i = 0; i < std::size(kSpanNames); ++i) {
    to.add(from.metrics.spans[i], {{"span", kSpanNames[i]}});
  }
}

void add_devices(const Scrape& from, MetricValues& to) {
  const auto lost = std::count_if(from.devices.begin(), from.devices.end(),
                                  [](const EngineDevice& device) { return device.lost; });
  to.add(static_cast<std::ptrdiff_t>(from.devices.size()) - lost, {{"state", "working"}});
  to.add(lost, {{"state", "lost"}});
}

void add_deaths(const Scrape& from, MetricValues& to) {
  to.add(from.processes.crashed - from.processes.lost_devices, {{"cause", "crash"}});
  to.add(from.processes.lost_devices, {{"cause", "device"}});
  to.add(from.processes.killed, {{"cause", "killed"}});
  to.add(from.processes.hung, {{"cause", "hung"}});
  to.add(from.processes.failed_starts, {{"cause", "start"}});
}

void add_handshakes(const Scrape& from, MetricValues& to) {
  to.add(from.metrics.handshakes_full.value(), {{"result", "full"}});
  to.add(from.metrics.handshakes_resumed.value(), {{"result", "resumed"}});
  to.add(from.metrics.handshakes_failed.value(), {{"result", "failed"}});
  to.add(from.metrics.handshakes_displaced.value(), {{"result", "displaced"}});
}

void add_cache_requests(const Scrape& from, MetricValues& to) {
  to.add(from.metrics.cache_hits.value(), {{"result", "hit"}});
  to.add(from.metrics.cache_misses.value(), {{"result", "miss"}});
}

void add_cache_errors(const Scrape& from, MetricValues& to) {
  to.add(from.cache.damaged, {{"type", "damaged"}});
  to.add(from.cache.write_errors, {{"type", "write"}});
  to.add(from.cache.dropped, {{"type", "dropped"}});
}

template <ClientCounters::Count ClientCounters::*kMember>
void add_clients(const Scrape& from, MetricValues& to) {
  for (std::size_t i = 0; i < std::size(kTransportNames); ++i) {
    to.add((from.metrics.clients[i].*kMember).load(), {{"transport", kTransportNames[i]}});
  }
}

void add_client_requests(const Scrape& from, MetricValues& to) {
  for (std::size_t i = 0; i < std::size(kTransportNames); ++i) {
    const ClientCounters& counters = from.metrics.clients[i];
    const Text transport = kTransportNames[i];
    to.add(counters.resized.load(), {{"transport", transport}, {"result", "resized"}});
    to.add(counters.failed.load(), {{"transport", transport}, {"result", "failed"}});
    to.add(counters.refused.load(), {{"transport", transport}, {"result", "refused"}});
  }
}

template <std::uint64_t KeptMemory::*kMember>
void add_kept(const Scrape& from, MetricValues& to) {
  for (const KeptMemory& memory : from.engine.kept) {
    to.add(memory.*kMember, {{"kind", memory.name}});
  }
}

struct MetricRow {
  MetricDescription description;
  void (*collect)(const Scrape&, MetricValues&);
};

// clang-format off
constexpr MetricRow kMetricRows[] = {
    {{"framewire_requests_total", "counter", "",
      "Requests whose head has come. Health, readiness and metrics are not counted, here or below"},
     [](const Scrape& s, MetricValues& v) { v.add(s.metrics.requests_begun.value()); }},
    {{"framewire_status_codes_total", "counter", "status",
      "Answers by status; 499 where the client had gone"}, add_statuses},
    {{"framewire_errors_total", "counter", "type",
      "Answers from 400 on: request, security, not_found, timeout, queue, downloading, processing, "
      "internal, client_gone"}, add_errors},
    {{"framewire_rejected_total", "counter", "reason",
      "What was turned away: queue_full, over_budget, client_share, connections"}, add_rejected},
    {{"framewire_request_duration_seconds", "histogram", "",
      "From a request's head to the end of its answer"},
     [](const Scrape& s, MetricValues& v) { v.add(s.metrics.durations); }},
    {{"framewire_request_span_duration_seconds", "histogram", "span",
      "Parts of it: queue, fetch, decode, encode, send"}, add_spans},
    {{"framewire_requests_in_progress", "gauge", "",
      "Requests whose answer has not gone out whole"},
     [](const Scrape& s, MetricValues& v) {
       // Ended first: what ends in between would be missing twice.
       const std::uint64_t ended = s.metrics.requests_ended.value();
       const std::uint64_t begun = s.metrics.requests_begun.value();
       v.add(begun - std::min(ended, begun));
     }},
    {{"framewire_images_in_progress", "gauge", "", "Pictures that the engine has been given"},
     [](const Scrape& s, MetricValues& v) { v.add(s.images); }},
    {{"framewire_queue_depth", "gauge", "", "Requests that were admitted, as --queue bounds them"},
     [](const Scrape& s, MetricValues& v) { v.add(s.usage.requests); }},
    {{"framewire_bytes_under_way", "gauge", "",
      "Bytes of their inputs and answers, as --bytes-under-way bounds them"},
     [](const Scrape& s, MetricValues& v) { v.add(s.usage.bytes); }},
    {{"framewire_connections", "gauge", "", "Open connections"},
     [](const Scrape& s, MetricValues& v) { v.add(s.shared.connections.load()); }},
    {{"framewire_http2_requests_total", "counter", "", "Requests that came by HTTP/2"},
     [](const Scrape& from, MetricValues& to) { to.add(from.metrics.http2_requests.value()); }},
    {{"framewire_http2_floods_total", "counter", "",
      "Connections of HTTP/2 that were ended for what brings no request nearer"},
     [](const Scrape& from, MetricValues& to) { to.add(from.metrics.http2_floods.value()); }},
    {{"framewire_tls_handshakes_total", "counter", "result",
      "TLS handshakes: full, resumed from a ticket, failed, displaced by others beyond "
      "--max-handshakes"}, add_handshakes},
    {{"framewire_client_connections", "gauge", "transport",
      "Local clients (local) and remote ones (stream, ucx-rdma) that are served now"},
     add_clients<&ClientCounters::connections>},
    {{"framewire_client_connections_total", "counter", "transport",
      "Those that were greeted so far"}, add_clients<&ClientCounters::connected>},
    {{"framewire_client_refused_connections_total", "counter", "transport",
      "Those that were turned away, or never greeted"},
     add_clients<&ClientCounters::refused_connections>},
    {{"framewire_client_requests_total", "counter", "transport, result",
      "Their requests that were answered: resized, failed, refused (busy)"}, add_client_requests},
    {{"framewire_client_input_bytes_total", "counter", "transport", "JPEG bytes of their requests"},
     add_clients<&ClientCounters::input_bytes>},
    {{"framewire_client_output_bytes_total", "counter", "transport", "JPEG bytes of their answers"},
     add_clients<&ClientCounters::output_bytes>},
    {{"framewire_client_wakeups_total", "counter", "transport",
      "Local clients that slept and were woken; answers that come together wake once"},
     [](const Scrape& s, MetricValues& v) {
       const auto& local = s.metrics.clients[enum_index(ClientTransport::kLocal)];
       v.add(local.wakeups.load(), {{"transport", "local"}});
     }},
    {{"framewire_decoded_pixels_total", "counter", "", "Pixels of originals that became pictures"},
     [](const Scrape& s, MetricValues& v) { v.add(s.metrics.decoded_pixels.value()); }},
    {{"framewire_coalesced_total", "counter", "",
      "Requests that shared the computation of an equal one"},
     [](const Scrape& s, MetricValues& v) { v.add(s.metrics.coalesced.value()); }},
    {{"framewire_fallback_images_total", "counter", "",
      "Originals that could not be had or decoded, and were answered with --fallback-image"},
     [](const Scrape& s, MetricValues& v) { v.add(s.metrics.fallback_images.value()); }},
    {{"framewire_cache_requests_total", "counter", "result",
      "Pictures that the cache on disk had, as far as its settings let it look: hit, miss"},
     add_cache_requests},
    {{"framewire_cache_bytes", "gauge", "", "Bytes of its files, as --cache-size bounds them"},
     [](const Scrape& s, MetricValues& v) { v.add(s.cache.bytes); }},
    {{"framewire_cache_entries", "gauge", "", "Their number"},
     [](const Scrape& s, MetricValues& v) { v.add(s.cache.entries); }},
    {{"framewire_cache_written_total", "counter", "", "Files written"},
     [](const Scrape& s, MetricValues& v) { v.add(s.cache.written); }},
    {{"framewire_cache_evictions_total", "counter", "", "Files removed to make room"},
     [](const Scrape& s, MetricValues& v) { v.add(s.cache.evicted); }},
    {{"framewire_cache_errors_total", "counter", "type",
      "What the cache could not do: damaged files that it removed, writes that failed, results "
      "that it dropped unwritten: damaged, write, dropped"}, add_cache_errors},
    {{"framewire_fallback_total", "counter", "from, to, reason",
      "Pictures that a GPU's codec left to the CPU: gpu_memory, colour, scans, unsupported, other"},
     add_fallbacks},
    {{"framewire_gpu_batch_size", "summary", "",
      "Pictures that GPUs finished (_sum) and batches (_count) of the whole engine"},
     [](const Scrape& s, MetricValues& v) { v.add_summary(s.engine.batches, s.engine.gpu_images); }},
    {{"framewire_device_memory_bytes", "gauge", "", "Held on all GPUs; 0 without one"},
     [](const Scrape& s, MetricValues& v) { v.add(s.engine.device_bytes); }},
    {{"framewire_devices", "gauge", "state",
      "GPUs of the engine: working, lost. Those of --workers are replaced, and never lost"},
     add_devices},
    {{"framewire_device_retries_total", "counter", "",
      "Pictures that were made elsewhere since the GPU that had them was lost"},
     [](const Scrape& s, MetricValues& v) { v.add(s.metrics.device_retries.value()); }},
    {{"framewire_pinned_memory_bytes", "gauge", "",
      "Host memory that GPUs copy from and to; 0 without one"},
     [](const Scrape& s, MetricValues& v) { v.add(s.engine.pinned_bytes); }},
    {{"framewire_kept_memory_bytes", "gauge", "kind",
      "What the engine keeps for requests to come: profiles, filters, inputs and, with a GPU, "
      "headers, device buffers, pinned buffers. None with --workers"},
     add_kept<&KeptMemory::bytes>},
    {{"framewire_kept_memory_bound_bytes", "gauge", "kind", "What each may hold at most"},
     add_kept<&KeptMemory::bound_bytes>},
    {{"framewire_kept_memory_hits_total", "counter", "kind",
      "Times that a picture found there what it needed"}, add_kept<&KeptMemory::hits>},
    {{"framewire_kept_memory_misses_total", "counter", "kind",
      "Times that it had to be made"}, add_kept<&KeptMemory::misses>},
    {{"framewire_process_resident_memory_bytes", "gauge", "", "Memory of the process"},
     [](const Scrape&, MetricValues& v) { v.add(resident_bytes()); }},
    {{"framewire_workers", "gauge", "", "Threads that decode and encode on the CPU, of all processes"},
     [](const Scrape& s, MetricValues& v) { v.add(s.workers); }},
    {{"framewire_workers_utilization", "gauge", "",
      "Percent of these that have a picture; with a GPU as if it did none"},
     [](const Scrape& s, MetricValues& v) {
       v.add(std::min(100.0, 100.0 * static_cast<double>(s.images) / s.workers));
     }},
    {{"framewire_worker_processes", "gauge", "",
      "Processes that decode, with --workers; 0 without"},
     [](const Scrape& s, MetricValues& v) { v.add(s.processes.alive); }},
    {{"framewire_worker_resident_memory_bytes", "gauge", "",
      "Memory of these, what they share with the service included"},
     [](const Scrape& s, MetricValues& v) { v.add(s.processes.resident_bytes); }},
    {{"framewire_worker_deaths_total", "counter", "cause",
      "Of these: crash, device (killed, since it had lost a GPU), killed (by somebody else), hung, "
      "start"}, add_deaths},
    {{"framewire_worker_retries_total", "counter", "",
      "Requests handed to another worker after one had died"},
     [](const Scrape& s, MetricValues& v) { v.add(s.processes.retries); }},
    {{"framewire_quarantined_inputs", "gauge", "", "Inputs that are refused, as they ended workers"},
     [](const Scrape& s, MetricValues& v) { v.add(s.processes.quarantined); }},
    {{"framewire_quarantined_requests_total", "counter", "", "Requests refused for that"},
     [](const Scrape& s, MetricValues& v) { v.add(s.processes.refused_requests); }},
    {{"framewire_build_info", "gauge", "version", "Always 1"},
     [](const Scrape&, MetricValues& v) { v.add(1, {{"version", kVersion}}); }},
};
// clang-format on

MetricType type_of(Text name) {
  if (name == "counter") return MetricType::Counter;
  if (name == "histogram") return MetricType::Histogram;
  if (name == "summary") return MetricType::Summary;
  return MetricType::Gauge;
}

}  // namespace

std::span<const MetricDescription> metric_descriptions() {
  static const auto descriptions = [] {
    std::vector<MetricDescription> all;
    for (const MetricRow& row : kMetricRows) all.push_back(row.description);
    return all;
  }();
  return descriptions;
}

std::string metrics_as_markdown() {
  std::string text = "| metric | type | labels | what it tells |\n|---|---|---|---|\n";
  for (const MetricDescription& row : metric_descriptions()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.type, row.labels, row.help);
  }
  return text;
}

std::string metrics_text(const SharedState& shared) {
  const Metrics& metrics = shared.metrics;
  Scrape scrape{shared, metrics, shared.admission.usage(), shared.engine.stats()};
  if (shared.cache_stats) scrape.cache = shared.cache_stats();
  const std::uint64_t ended = metrics.images_ended.value();
  const std::uint64_t begun = metrics.images_begun.value();
  scrape.images = begun - std::min(ended, begun);
  scrape.workers = shared.host_threads;
  scrape.processes = shared.engine.workers().value_or(WorkerFigures{});
  scrape.devices = shared.engine.devices();
  std::vector<MetricFamily> families;
  for (const MetricRow& row : kMetricRows) {
    MetricFamily& family = families.emplace_back();
    family.name = row.description.name;
    family.help = row.description.help;
    family.type = type_of(row.description.type);
    MetricValues values(family);
    row.collect(scrape, values);
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  // A stream does not throw where memory runs out: it only goes bad, with half of the text.
  if (!out.good()) throw std::bad_alloc();
  return std::move(out).str();
}

}  // namespace framewire::service::http
