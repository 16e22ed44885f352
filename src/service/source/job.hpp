// One fetch under way.
#pragma once

#include <base/clock.hpp>
#include <optional>
#include <service/source/source_url.hpp>
#include <service/source/sources.hpp>
#include <utility>

namespace framewire::service::source {

struct FetchJob {
  FetchRequest request;
  FetchDone done;
  SourceUrl url;  ///< the hop's
  std::size_t max_bytes = 0;
  base::Clock::time_point deadline;
  /// Known before anything was fetched; answered as soon as the loop comes to it.
  std::optional<FetchError> verdict;

  /// Calls `done`, once; later calls do nothing.
  void answer(Fetched<Original> result) noexcept {
    const FetchDone call = std::exchange(done, nullptr);
    if (!call) return;
    try {
      call(std::move(result));
    } catch (...) {
      // Its own business: nothing of ours may end by what a caller throws.
    }
  }
};

}  // namespace framewire::service::source
