// RegisteredCode: this program as a run time that registers objects by GDB's JIT interface.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace profd::test {

// As GDB's documentation has it.
struct DebuggerEntry {
  const DebuggerEntry* next = nullptr;
  const DebuggerEntry* previous = nullptr;
  const void* object = nullptr;
  std::uint64_t bytes = 0;
};

// The list of this program; one at a time. Empty at first, and again when it is destroyed.
class DebuggerList {
 public:
  DebuggerList() = default;
  DebuggerList(const DebuggerList&) = delete;
  DebuggerList& operator=(const DebuggerList&) = delete;
  ~DebuggerList() { Point(nullptr, nullptr); }

  // At the begin of the list. `object` must outlive this.
  DebuggerEntry& Add(const std::string& object);
  DebuggerEntry& Add(const void* object, std::uint64_t bytes);
  // The one that was added last.
  void RemoveFirst();
  // As a run time does that is hostile.
  static void Point(const DebuggerEntry* first, const DebuggerEntry* relevant);

 private:
  std::deque<DebuggerEntry> entries_;
};

struct RegisteredFunction {
  std::string name;
  std::uint64_t offset = 0;  // in the code
  std::uint64_t size = 0;
};

struct RegisteredPlan {
  bool relocatable = true;  // as LLVM has it; else as a linker does
  std::uint64_t code = 0;   // address
  std::uint64_t code_bytes = 0;
  std::vector<RegisteredFunction> functions;
  std::string frames;  // "": it has none
  std::string frames_name = ".eh_frame";
  std::uint64_t frames_address = 0;  // 0: they are not loaded
  // Places in `frames` that lead to the begin of the code: 4 bytes, relative to themselves.
  std::vector<std::uint64_t> relocated;
};

[[nodiscard]] std::string MakeRegistered(const RegisteredPlan& plan);

// Unwind information: a CIE whose pointers are relative, and an FDE of `code_bytes` bytes with
// these instructions. kFrameBegin: the place that leads to the code.
inline constexpr std::uint64_t kFrameBegin = 32;
[[nodiscard]] std::string MakeFrames(std::uint64_t code_bytes, const std::string& instructions);

}  // namespace profd::test
