// RegisteredNames: the functions of what a process has registered for debuggers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "daemon/elf/registered/registered_list.h"
#include "daemon/symbolize/live/jit_map.h"

namespace profd::symbolize {

// Keeps the list as it was read last, and the symbols of the objects whose code was requested: a
// run time may register thousands, of which few run. What is registered no more has no names.
// Belongs to one process; used by one thread.
class RegisteredNames {
 public:
  static constexpr std::size_t kMaxBytes = 64u << 20;  // of names; beyond, they are read again
  static constexpr std::size_t kRangeBytes = 96;       // of code, with its part of an object

  struct Object {
    elf::RegisteredPlace place;
    bool is_read = false;
    std::uint64_t tried_ns = 0;  // when its symbols were last requested; 0: never
    JitMap names;
  };

  // What it has now. Objects that stay keep their names.
  void Take(const elf::RegisteredList& list);
  // 0: the process has no list, or it is not known.
  [[nodiscard]] std::uint64_t stamp() const { return stamp_; }
  [[nodiscard]] std::size_t objects() const { return objects_.size(); }
  // The object whose code holds the address; null: none.
  [[nodiscard]] Object* Find(std::uint64_t address);
  // Its names have been read: those of others go where all together are too large.
  void KeepBounds(const Object& used);
  // Memory, about.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Range {
    std::uint64_t end = 0;
    Object* object = nullptr;
  };

  void Measure();

  std::uint64_t stamp_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
  std::map<std::uint64_t, Range> code_;  // by begin; disjoint
};

}  // namespace profd::symbolize
