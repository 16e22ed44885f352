// One-sided attacks, each of which UCX's manual says is impossible or undefined.
#pragma once

#include <algorithm>
#include <string>
#include <tests/transport/ucx/victims.hpp>
#include <vector>

namespace framewire::transport::testing {

enum class Key { kOwn, kOfThatPart, kOfAnotherPart };

struct Attack {
  const char* name;
  bool writes;
  Part part;
  std::size_t offset;  ///< in the part
  Key key;
};

inline constexpr std::size_t kAttackBytes = 256;

inline constexpr Attack kAttacks[] = {
    {"PutWithAForeignKey", true, Part::kWritable, 0, Key::kOwn},
    {"GetWithAForeignKey", false, Part::kReadable, 0, Key::kOwn},
    {"PutWhereNothingIsRegistered", true, Part::kPrivate, 0, Key::kOfAnotherPart},
    {"GetWhereNothingIsRegistered", false, Part::kPrivate, 0, Key::kOfAnotherPart},
    {"PutPastTheEnd", true, Part::kReadable, kPartBytes - kAttackBytes / 2, Key::kOfThatPart},
    {"PutAfterItWasWithdrawn", true, Part::kWithdrawn, 0, Key::kOfThatPart},
    {"GetAfterItWasWithdrawn", false, Part::kWithdrawn, 0, Key::kOfThatPart},
    {"PutIntoWhatIsToBeRead", true, Part::kReadable, 0, Key::kOfThatPart},
    {"GetFromWhatIsToBeWritten", false, Part::kWritable, 0, Key::kOfThatPart},
};

/// Whether the attack, over a connection that stands, changed or learned a byte.
inline bool harms(Victim& victim, OneSided& attacker, const Attack& attack) {
  std::vector<std::byte> mine(kAttackBytes, std::byte{0xee});
  auto key = attacker.map(mine);
  const Part of = attack.key == Key::kOfAnotherPart ? Part::kWritable : attack.part;
  if (attack.key != Key::kOwn && !victim.key(of).empty()) key = victim.key(of);
  const std::byte* place = victim.part(attack.part).data() + attack.offset;
  if (attack.writes) {
    attacker.put(mine, place, key, [&] { victim.step(); });
    return !victim.unharmed();
  }
  attacker.get(mine, place, key, [&] { victim.step(); });
  return std::any_of(mine.begin(), mine.end(), [](std::byte b) { return b != std::byte{0xee}; });
}

}  // namespace framewire::transport::testing
