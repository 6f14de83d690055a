// RegisteredLists: what processes have registered for debuggers by GDB's JIT interface.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/result.h"
#include "daemon/elf/registered/descriptor_finder.h"
#include "daemon/elf/registered/registered_object.h"
#include "daemon/elf/symbols/function_extents.h"
#include "daemon/reader/message.h"
#include "daemon/reader/opener.h"

namespace profd::elf {

struct RegisteredEntry {
  RegisteredPlace place;
  std::vector<FunctionExtent> code;  // ascending and disjoint
};

// One process's list, as it was at some moment.
struct RegisteredList {
  // Another one when the list is another; 0: the process has no such list.
  std::uint64_t stamp = 0;
  std::vector<RegisteredEntry> objects;  // in the list's order
  std::uint64_t left_out = 0;            // that were damaged, unreadable or beyond a bound

  // The first object that has code in [begin, end), from number `from` on. Null: none.
  [[nodiscard]] const RegisteredEntry* FindIn(std::uint64_t begin, std::uint64_t end,
                                              std::size_t& from) const;
};
using RegisteredListRef = std::shared_ptr<const RegisteredList>;

// To and from a reader process. Nothing: it makes no sense.
void PackList(const RegisteredList& list, reader::Packer& fields);
[[nodiscard]] std::optional<RegisteredList> UnpackList(reader::Unpacker& fields);

// Reads the lists, and from each object its headers alone. A list lies in memory that its process
// may change at any time, so it may loop, end anywhere or lead anywhere: it is followed as far as
// the bounds allow, and each address once. A list that has not changed since the last time costs a
// few reads, a process without one none. Keeps the lists that were used last. Lives in a reader
// process; used by its one thread.
class RegisteredLists {
 public:
  static constexpr std::size_t kMaxProcesses = 64;
  static constexpr std::size_t kMaxObjects = 16'384;           // of one process
  static constexpr std::size_t kMaxRanges = 65'536;            // of code, of one process
  static constexpr std::chrono::milliseconds kMaxTime{2'000};  // for one list

  // Never null. kNotFound: the process is gone.
  [[nodiscard]] Result<RegisteredListRef> Read(reader::FileOpener& opener, std::uint32_t pid);

 private:
  DescriptorFinder finder_;
  LruCache<std::uint32_t, RegisteredListRef> lists_{kMaxProcesses};
};

}  // namespace profd::elf
