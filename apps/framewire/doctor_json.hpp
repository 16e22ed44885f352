// A diagnosis as JSON, with the keys that docs/doctor.md lists.
#pragma once

#include <topology/diagnosis.hpp>
#include "json.hpp"

namespace framewire::app {

[[nodiscard]] Json to_json(const topology::Diagnosis& diagnosis);

}  // namespace framewire::app
