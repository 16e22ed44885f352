// What all threads of one server share.
#pragma once

#include <atomic>
#include <base/cores.hpp>
#include <cstdint>
#include <functional>
#include <service/cache/disk_cache.hpp>
#include <service/http/address_counts.hpp>
#include <service/http/admission.hpp>
#include <service/http/log.hpp>
#include <service/http/metrics.hpp>
#include <service/http/settings.hpp>
#include <service/http/tls_context.hpp>
#include <service/pictures/picture_engine.hpp>
#include <vector>

namespace framewire::service::http {

/// Runs a task on a thread that may take long; called from any thread. False where it cannot.
using RunAside = std::function<bool(std::function<void()>)>;

class Images;
class IoThread;

struct SharedState {
  SharedState(const ServiceSettings& from, PictureEngine& pictures, LogSink sink)
      : settings(from),
        engine(pictures),
        admission({most_requests(from, !pictures.devices().empty()), from.bytes_under_way,
                   from.pixels_under_way, from.client_share_percent}),
        log(std::move(sink)),
        has_device(!pictures.devices().empty()),
        host_threads(from.engine_threads != 0 ? from.engine_threads : base::usable_cores()) {}

  const ServiceSettings settings;  ///< as the server was started; requests read Exchange::snapshot
  PictureEngine& engine;
  ClientAdmission admission;
  Log log;
  Metrics metrics;
  TlsSlot tls;                  ///< empty where no listener speaks TLS
  bool has_device = false;      ///< the engine's
  const unsigned host_threads;  ///< the engine's
  RunAside run_aside;
  RunAside run_scrape;  ///< as run_aside, for metrics alone: pictures to inspect do not delay them
  std::function<cache::Stats()> cache_stats;  ///< empty: there is no cache
  Images* images = nullptr;
  std::vector<IoThread*> io_threads;  ///< from before the first runs until the last has ended
  std::atomic<std::uint64_t> connections{0};          ///< all
  AddressCounts addresses;                            ///< of the connections but those for metrics
  std::atomic<std::uint64_t> metrics_connections{0};  ///< those of the listener for metrics
  std::atomic<std::uint64_t> handshakes{0};           ///< of TLS, under way
  std::atomic<bool> draining{false};
  std::atomic<unsigned> drained_threads{0};  ///< whose listeners are closed
};

}  // namespace framewire::service::http
