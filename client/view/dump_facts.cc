#include "client/view/dump_facts.h"

namespace profd::view {

ProcessFacts FactsOf(const v1::Dump& dump, std::uint32_t process) {
  ProcessFacts facts;
  for (const v1::DumpThread& thread : dump.threads()) {
    if (thread.process() != process) continue;
    facts.threads.push_back(&thread);
    facts.has_gil = facts.has_gil || thread.python();
    facts.gil_known =
        facts.gil_known || (thread.gil() != v1::GIL_NONE && thread.gil() != v1::GIL_UNKNOWN);
    if (thread.wait() == v1::WAIT_GIL) ++facts.gil_waiters;
    const bool later = facts.holder == nullptr || thread.seen_ns() >= facts.holder->seen_ns();
    if (thread.gil() == v1::GIL_HELD && later) facts.holder = &thread;
  }
  return facts;
}

std::vector<const v1::Frame*> ShownFrames(const v1::Dump& dump, const v1::DumpThread& thread,
                                          const DumpOptions& options) {
  std::vector<const v1::Frame*> shown;
  for (const auto index : thread.frame()) {
    const v1::Frame& frame = dump.frames(static_cast<int>(index));
    if (options.interpreter_frames || !frame.interpreter()) shown.push_back(&frame);
  }
  return shown;
}

}  // namespace profd::view
