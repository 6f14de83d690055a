// TwoGenerations: a bounded map that forgets what was not used for longest, roughly and cheaply.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

namespace profd::python {

// When the young generation is full it becomes the old one, and the old one is forgotten; what is
// found in the old one becomes young again. So the last `half` different keys are there for certain
// and never more than twice as many. Used by one thread.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class TwoGenerations {
 public:
  explicit TwoGenerations(std::size_t half) : half_(half) {}

  // Null when it is not there. Valid until the next call.
  [[nodiscard]] Value* Find(const Key& key) {
    if (const auto found = young_.find(key); found != young_.end()) return &found->second;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    Value value = std::move(found->second);
    old_.erase(found);
    return &Put(key, std::move(value));
  }

  Value& Put(const Key& key, Value value) {
    if (young_.size() >= half_ && !young_.contains(key)) old_ = std::exchange(young_, {});
    return young_[key] = std::move(value);
  }

  template <typename Predicate>
  void EraseIf(const Predicate& predicate) {
    const auto erases = [&](const auto& entry) { return predicate(entry.first); };
    std::erase_if(young_, erases);
    std::erase_if(old_, erases);
  }

  void Clear() {
    young_.clear();
    old_.clear();
  }
  [[nodiscard]] std::size_t size() const { return young_.size() + old_.size(); }

 private:
  std::size_t half_;
  std::unordered_map<Key, Value, Hash> young_;
  std::unordered_map<Key, Value, Hash> old_;
};

}  // namespace profd::python
