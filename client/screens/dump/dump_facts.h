// What follows from a dump, for its text and its JSON alike: who holds the GIL, which frames are
// shown, what a thread waits for in the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/screens/dump/dump_view.h"
#include "profd/v1/dump.pb.h"

namespace profd::client {

struct ProcessFacts {
  std::vector<const v1::DumpThread*> threads;
  bool has_gil = false;    // some thread has a state of the interpreter
  bool gil_known = false;  // and it could be read who holds its GIL
  // Seen to hold the GIL: the latest; where the process has several runtimes, each with a GIL, all.
  std::vector<const v1::DumpThread*> holders;
  std::uint64_t gil_waiters = 0;
};

// Points into `dump`, which must have passed CheckDump.
[[nodiscard]] ProcessFacts FactsOf(const v1::Dump& dump, std::uint32_t process);

// The threads that a thread waits for, through mutexes and GILs, from the first holder on: to one
// that does not wait for such a lock, or to the first one that comes twice.
[[nodiscard]] std::vector<const v1::DumpThread*> HoldersOf(const v1::Dump& dump,
                                                           const v1::DumpThread& thread);
// The deadlocks: threads that wait for each other in a circle, each circle once, from its first
// thread in the dump on.
[[nodiscard]] std::vector<std::vector<const v1::DumpThread*>> Deadlocks(const v1::Dump& dump);

// Its stack goes on from code without unwind rules, by frame pointer.
[[nodiscard]] bool IsByFramePointer(const v1::DumpThread& thread);
// How many of ShownFrames stand before the first frame that was found so; all of them where none
// was.
[[nodiscard]] std::size_t CertainFrames(const v1::Dump& dump, const v1::DumpThread& thread,
                                        const DumpOptions& options);

// Leaf first, without what the options hide.
[[nodiscard]] std::vector<const v1::Frame*> ShownFrames(const v1::Dump& dump,
                                                        const v1::DumpThread& thread,
                                                        const DumpOptions& options);

// "futex 0x7f12a0", "ioctl fd 7", "wait4 pid 12", "syscall 4711"; "" for a thread in none. Numbers
// are those of x86-64.
[[nodiscard]] std::string SyscallText(const v1::DumpThread& thread);
// "futex"; "" for one that has no name here.
[[nodiscard]] std::string SyscallName(std::uint32_t number);

}  // namespace profd::client
