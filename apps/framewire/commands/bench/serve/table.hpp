// The result of framewire bench serve for a reader.
#pragma once

#include <report/json.hpp>
#include <string>

namespace framewire::app::bench_serve {

/// A line for each number of servers and clients: what was published, engines apart without and
/// with MPS, one shared engine. Then a line of details for each measurement.
[[nodiscard]] std::string table(const Json& result);

}  // namespace framewire::app::bench_serve
