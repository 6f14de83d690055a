#include "tests/testprogs/steps/record_event.h"

namespace phi {

// The compiler may not see that they do nothing, nor join those that are alike.
#define NOT_EMPTY(what) asm volatile("# " what ::: "memory")

__attribute__((noinline)) RecordEvent::RecordEvent(const char* /*name*/, TracerEventType /*type*/,
                                                   std::uint32_t /*level*/, EventRole /*role*/) {
  // As PaddlePaddle's: no place for a uprobe.
  asm volatile("vpxor %%xmm0, %%xmm0, %%xmm0" ::: "xmm0");
  NOT_EMPTY("text");
}

__attribute__((noinline))
RecordEvent::RecordEvent(const std::string& /*name*/, TracerEventType /*type*/,
                         std::uint32_t /*level*/, EventRole /*role*/) {
  NOT_EMPTY("string");
}

__attribute__((noinline)) void RecordEvent::End() { NOT_EMPTY("end"); }

}  // namespace phi
