// RegisteredRows: unwind information that a process has registered for debuggers -> rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/registered/registered_list.h"
#include "daemon/elf/registered/registered_object.h"
#include "daemon/unwind/code/function_rows.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// Interprets the unwind information of one object through libdw, which gets an ELF file of this
// section alone. An object with any damaged entry is refused, since libdw would read that entry,
// too. Lives in a reader process, which alone uses it.
class RegisteredRows {
 public:
  static constexpr std::size_t kMaxFdes = 65'536;

  // kCorrupt: damaged.
  [[nodiscard]] static Result<RegisteredRows> Make(const elf::RegisteredFrames& frames);
  RegisteredRows(RegisteredRows&&) noexcept;
  RegisteredRows& operator=(RegisteredRows&&) noexcept;
  ~RegisteredRows();

  // What it says of code in `part`, ascending and disjoint. kNoRule: it says what no rule can say.
  [[nodiscard]] std::vector<FunctionRows::Piece> Find(const CodeRange& part);

 private:
  class State;
  explicit RegisteredRows(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// The same of all objects of a list, of at most kMaxObjectsOfPart. Of two that describe the same
// code, the first one in the list counts. `memory`: /proc/PID/mem of the process.
inline constexpr std::size_t kMaxObjectsOfPart = 256;
[[nodiscard]] std::vector<FunctionRows::Piece> FindRegistered(const elf::RegisteredList& list,
                                                              int memory, const CodeRange& part);

}  // namespace profd::unwind
