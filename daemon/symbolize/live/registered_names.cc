#include "daemon/symbolize/live/registered_names.h"

#include <iterator>
#include <unordered_map>
#include <utility>

namespace profd::symbolize {

void RegisteredNames::Take(const elf::RegisteredList& list) {
  stamp_ = list.stamp;
  std::unordered_map<std::uint64_t, std::unique_ptr<Object>> known;  // by address
  for (auto& object : objects_) {
    const std::uint64_t address = object->place.address;
    known[address] = std::move(object);
  }
  objects_.clear();
  code_.clear();
  for (const elf::RegisteredEntry& entry : list.objects) {
    auto& before = known[entry.place.address];
    const bool stays = before && before->place == entry.place;
    auto object = stays ? std::move(before) : std::make_unique<Object>();
    object->place = entry.place;
    for (const elf::FunctionExtent& code : entry.code) {
      // Of two objects at one place the first one stands: lists begin with what is new.
      const auto next = code_.lower_bound(code.end);
      const bool is_free = next == code_.begin() || std::prev(next)->second.end <= code.begin;
      if (is_free) code_.emplace_hint(next, code.begin, Range{code.end, object.get()});
    }
    objects_.push_back(std::move(object));
  }
  Measure();
}

RegisteredNames::Object* RegisteredNames::Find(std::uint64_t address) {
  const auto after = code_.upper_bound(address);
  if (after == code_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  return address < range.end ? range.object : nullptr;
}

void RegisteredNames::KeepBounds(const Object& used) {
  Measure();
  if (bytes_ <= kMaxBytes) return;
  for (const auto& object : objects_) {
    if (object.get() == &used) continue;
    object->names = JitMap{};
    object->is_read = false;
  }
  Measure();
}

void RegisteredNames::Measure() {
  bytes_ = code_.size() * kRangeBytes + objects_.size() * sizeof(Object);
  for (const auto& object : objects_) bytes_ += object->names.bytes();
}

}  // namespace profd::symbolize
