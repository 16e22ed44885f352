// A diagnosis as JSON, with the keys that docs/doctor.md lists.
#pragma once

#include <report/json.hpp>
#include <topology/diagnosis.hpp>

namespace framewire::app {

[[nodiscard]] Json to_json(const topology::Diagnosis& diagnosis);

}  // namespace framewire::app
