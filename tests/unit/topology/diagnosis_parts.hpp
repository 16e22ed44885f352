// Parts of a diagnosis by name; a failure of the test where there is none.
#pragma once

#include <gtest/gtest.h>
#include <string_view>
#include <topology/diagnosis.hpp>

namespace framewire::test {

using topology::Diagnosis;
using topology::Pair;
using topology::Probe;

inline const Probe& probe(const Diagnosis& diagnosis, std::string_view id,
                          std::string_view subject = "") {
  for (const Probe& one : diagnosis.probes) {
    if (one.id == id && one.subject == subject) return one;
  }
  ADD_FAILURE() << "no probe " << id << " of '" << subject << "'";
  static const Probe none;
  return none;
}

inline const Pair& pair(const Diagnosis& diagnosis, std::string_view a, std::string_view b) {
  for (const Pair& one : diagnosis.pairs) {
    if (one.a == a && one.b == b) return one;
  }
  ADD_FAILURE() << "no pair " << a << ", " << b;
  static const Pair none;
  return none;
}

}  // namespace framewire::test
