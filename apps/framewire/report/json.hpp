// Reports as JSON, with the keys that docs/batch.md lists.
#pragma once

#include <inspect/json.hpp>

namespace framewire::app {

using inspect::Json;
using inspect::one_line;
using inspect::pretty;
using inspect::text_of;
using inspect::to_json;

}  // namespace framewire::app
