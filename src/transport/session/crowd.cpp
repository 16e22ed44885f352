#include <transport/session/crowd.hpp>

namespace framewire::transport::session {

std::optional<std::uint64_t> Crowd::displaced_by(const std::string& origin) const {
  const auto own = origins_.find(origin);
  if (own != origins_.end() && own->second.size() >= max_of_one_) return *own->second.begin();
  if (size_ < max_) return std::nullopt;
  const std::set<std::uint64_t>* fullest = nullptr;
  for (const auto& [name, numbers] : origins_) {
    const bool fuller = fullest == nullptr || numbers.size() > fullest->size() ||
                        (numbers.size() == fullest->size() && *numbers.begin() < *fullest->begin());
    if (fuller) fullest = &numbers;
  }
  if (fullest == nullptr) return std::nullopt;
  return *fullest->begin();
}

void Crowd::add(std::uint64_t number, const std::string& origin) {
  if (origins_[origin].insert(number).second) ++size_;
}

void Crowd::remove(std::uint64_t number, const std::string& origin) {
  const auto found = origins_.find(origin);
  if (found == origins_.end() || found->second.erase(number) == 0) return;
  --size_;
  if (found->second.empty()) origins_.erase(found);
}

}  // namespace framewire::transport::session
