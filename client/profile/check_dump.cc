#include "client/profile/check_dump.h"

#include <algorithm>
#include <string>

namespace profd::client {
namespace {

bool Fits(std::uint64_t index, int size) { return index < static_cast<std::uint64_t>(size); }

bool IsSound(const v1::Dump& dump, const v1::DumpThread& thread) {
  return Fits(thread.process(), dump.processes_size()) && v1::State_IsValid(thread.state()) &&
         std::ranges::all_of(thread.frame(),
                             [&](auto frame) { return Fits(frame, dump.frames_size()); });
}

}  // namespace

Result<void> CheckDump(const v1::Dump& dump) {
  for (const v1::DumpThread& thread : dump.threads())
    if (!IsSound(dump, thread))
      return Error{ErrorCode::kCorrupt,
                   "the dump is damaged in thread " + std::to_string(thread.tid()), ""};
  return {};
}

}  // namespace profd::client
