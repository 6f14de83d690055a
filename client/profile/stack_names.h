// How frames, processes, threads and states are written. Shared by every format, so that a name
// found in one can be searched for in another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Bytes of one name; a longer one is cut and ends in "...".
inline constexpr std::size_t kMaxNameBytes = 2048;

struct FrameStyle {
  bool signature = false;  // with parameters, where they are known
  bool mangled = false;    // as the file has it; wins over `signature`
  bool place = true;       // Python: " (file.py:31)" behind the name
  bool line = true;        // of it, ":31"
  bool suffixes = true;    // _[k] kernel, _[i] inlined, _[j] JIT
  bool inlined = true;     // of these, _[i]
};

// Valid UTF-8 without `;` (it becomes `:`) and without code points that are unsafe to print (they
// become `?`). Bytes that are not UTF-8 become U+FFFD. Never empty: "[unknown]".
[[nodiscard]] std::string SafeName(std::string_view name);

// "read_[k]", "Tensor.numpy (tensor.py:31)", "[unknown libfoo.so+0x1234]".
[[nodiscard]] std::string FrameName(const v1::Frame& frame, const FrameStyle& style);
// What an unresolved frame's file is called: "redis-server", which is a link to redis-check-rdb.
[[nodiscard]] std::string_view ModuleName(const v1::Frame& frame);
// "python3 (4242)".
[[nodiscard]] std::string ProcessName(const v1::Process& process);
[[nodiscard]] std::string ThreadName(const v1::Thread& thread);

// "train x 8" for the processes of one program; of two programs of that name the second says which
// it is. A process that is alone of its program has its own name. Used by one thread.
class ProgramNames {
 public:
  explicit ProgramNames(const v1::Profile& profile);
  // Of a process of that profile.
  [[nodiscard]] std::string Of(const v1::Process& process);

 private:
  std::unordered_map<std::string, std::size_t> processes_;  // by program
  std::unordered_map<std::string, std::string> names_;      // by name: the program
};

// The name of its user, else the uid, "" where neither is known. Not made safe.
[[nodiscard]] std::string UserName(const v1::Process& process);

// Whether people would call it so: with or without the file and the line behind the name.
[[nodiscard]] bool IsFunction(const v1::Frame& frame, std::string_view name);
// kNotFound; the hint has functions whose names contain it.
[[nodiscard]] Error NoSuchFunction(const v1::Profile& profile, std::string_view name);

// "pool-12" -> "pool-*": what differs in numbers only.
[[nodiscard]] std::string WithoutNumbers(std::string_view name);

// Equal for processes of one program: the same name and the same first words of the command line
// but for numbers. These are the interpreter and its script, or "postgres: user database".
[[nodiscard]] std::string ProgramOf(const v1::Process& process);

// What stands where a sample has no stack (node 0).
inline constexpr std::string_view kNoStack = "[no stack]";
// The last frame of a stack: "[working]", "[spinning]", "[runnable]", "[blocked:lock]";
// "[runnable:gil-holder]" of a thread that keeps others from running Python while it has no CPU.
// Formats leave out the first of them where a reader expects the function itself to be the leaf.
[[nodiscard]] std::string_view StateFrameName(v1::State state, v1::WaitReason wait,
                                              v1::Gil gil = v1::GIL_NONE, bool spinning = false);
// Of a sample of a profile that has passed CheckProfile.
[[nodiscard]] std::string_view StateFrameName(const v1::Profile& profile, int sample);
// "held"; "" where there is nothing to say.
[[nodiscard]] std::string_view GilName(v1::Gil gil);
// "lock"; "" for none; "other" for what a newer profd may know.
[[nodiscard]] std::string_view WaitName(v1::WaitReason wait);
[[nodiscard]] std::string_view StateName(v1::State state);

// By the safe paths of modules: of those that have one; safe.
[[nodiscard]] std::map<std::string, std::string> BuildIdsOf(const v1::Profile& profile);

// What a picture of the whole profile is headed with: the command line and pid of its only process,
// or of the one that was requested and how many more came with it, else the target.
[[nodiscard]] std::string TitleOf(const v1::Profile& profile);

}  // namespace profd::client
