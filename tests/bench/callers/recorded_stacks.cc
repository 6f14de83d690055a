// The user stacks of a recording's dumps as they left the kernel: recorded_stacks RECORDING
// A line each: TIME_NS TID RUNNING STACK_FLAGS UNCERTAIN_FROM ADDRESS..., numbers in hex.
#include <cstdio>
#include <variant>

#include "daemon/recording/recording_reader.h"
#include "daemon/wire/decoder.h"

namespace profd {
namespace {

void Print(const wire::StackEvent& stack) {
  std::printf("%llx %x %d %x %x", static_cast<unsigned long long>(stack.header.time_ns),
              stack.header.thread.tid, (stack.flags & PROFD_SAMPLE_RUNNING) != 0, stack.stack_flags,
              stack.uncertain_from);
  for (const std::uint64_t frame : stack.user_frames)
    std::printf(" %llx", static_cast<unsigned long long>(frame & ~PROFD_FRAME_EXACT));
  std::printf("\n");
}

int Main(const char* path) {
  auto reader = recording::RecordingReader::Open(path);
  wire::Decoder decoder;
  Result<bool> more = reader ? Result<bool>(true) : reader.error();
  while (more && *more) {
    more = (*reader)->NextEvents([&](const wire::RawEvent& raw) {
      const auto event = decoder.Decode(raw);
      const auto* stack = event ? std::get_if<wire::StackEvent>(&*event) : nullptr;
      if (stack != nullptr && stack->origin == wire::SampleOrigin::kSnapshot) Print(*stack);
    });
  }
  if (more) return 0;
  std::fprintf(stderr, "recorded_stacks: %s\n", more.error().message.c_str());
  return 1;
}

}  // namespace
}  // namespace profd

int main(int count, char** arguments) {
  if (count == 2) return profd::Main(arguments[1]);
  std::fprintf(stderr, "usage: recorded_stacks RECORDING\n");
  return 2;
}
