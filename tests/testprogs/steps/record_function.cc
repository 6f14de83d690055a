#include "tests/testprogs/steps/record_function.h"

// A place that a note of .note.stapsdt describes: the address, that of .stapsdt.base, that of a
// semaphore or 0, then provider, name and arguments.
#define STATIC_PROBE(provider, name, semaphore)                               \
  asm volatile(                                                               \
      "990: nop\n"                                                            \
      ".pushsection .note.stapsdt,\"\",\"note\"\n"                            \
      ".balign 4\n"                                                           \
      ".4byte 992f-991f, 994f-993f, 3\n"                                      \
      "991: .asciz \"stapsdt\"\n"                                             \
      "992: .balign 4\n"                                                      \
      "993: .8byte 990b\n"                                                    \
      ".8byte _.stapsdt.base\n"                                               \
      ".8byte " semaphore                                                     \
      "\n"                                                                    \
      ".asciz \"" provider                                                    \
      "\"\n"                                                                  \
      ".asciz \"" name                                                        \
      "\"\n"                                                                  \
      ".asciz \"\"\n"                                                         \
      "994: .balign 4\n"                                                      \
      ".popsection\n"                                                         \
      ".ifndef _.stapsdt.base\n"                                              \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n"                                                \
      ".hidden _.stapsdt.base\n"                                              \
      "_.stapsdt.base: .space 1\n"                                            \
      ".size _.stapsdt.base, 1\n"                                             \
      ".popsection\n"                                                         \
      ".endif\n")

// The compiler may not see that they do nothing.
#define NOT_EMPTY() asm volatile("" ::: "memory")

extern "C" {
__attribute__((section(".probes"), visibility("hidden"),
               used)) volatile unsigned short trainer_counted_semaphore = 0;

__attribute__((noinline)) void work_step() { NOT_EMPTY(); }
__attribute__((noinline)) void pass_static_probe() {
  STATIC_PROBE("trainer", "step", "0");
  STATIC_PROBE("trainer", "step", "0");
}
unsigned short probe_users() { return trainer_counted_semaphore; }
__attribute__((noinline)) void pass_counted_probe() {
  STATIC_PROBE("trainer", "counted", "trainer_counted_semaphore");
}
}

namespace torch::autograd::profiler {

__attribute__((noinline)) c10::intrusive_ptr<PythonRecordFunction> record_function_enter_new(
    const std::string& /*name*/, const std::optional<std::string>& /*arguments*/) {
  NOT_EMPTY();
  return {};
}

__attribute__((noinline, used)) static void record_function_exit_new(
    const c10::intrusive_ptr<PythonRecordFunction>& /*record*/) {
  NOT_EMPTY();
}

}  // namespace torch::autograd::profiler

namespace profd::steps {

void Leave(const Record& record) { torch::autograd::profiler::record_function_exit_new(record); }

}  // namespace profd::steps
