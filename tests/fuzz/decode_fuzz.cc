// Any bytes as one event.
#include <span>

#include "daemon/wire/decoder.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  wire::Decoder decoder;
  const wire::RawEvent raw{std::as_bytes(std::span(data, size))};
  const Result<wire::Event> event = decoder.Decode(raw);
  fuzz::Require(decoder.Counters().decoded == (event ? 1u : 0u), "decoded is counted");
  fuzz::Require(decoder.Counters().Rejected() == (event ? 0u : 1u), "rejected is counted");
  if (!event) return 0;
  const auto& header = wire::HeaderOf(*event);
  if (const auto* stack = std::get_if<wire::StackEvent>(&*event)) {
    fuzz::Require(stack->kernel_frames.size() <= PROFD_MAX_KERNEL_FRAMES, "kernel frames");
    fuzz::Require(stack->user_frames.size() <= PROFD_MAX_USER_FRAMES, "user frames");
    if (stack->origin != wire::SampleOrigin::kOnCpu)
      fuzz::Require(stack->runnable_ns <= header.time_ns - stack->begin_ns, "interval");
  }
  if (const auto* mmap = std::get_if<wire::MmapEvent>(&*event))
    fuzz::Require(mmap->address < mmap->address + mmap->bytes, "range");
  return 0;
}
