// Any bytes as the events of a block, from decoding to samples, with bounds that are soon reached.
#include <span>
#include <vector>

#include "daemon/process/process_table.h"
#include "daemon/process/sampler.h"
#include "daemon/recording/block.h"
#include "daemon/wire/decoder.h"
#include "daemon/wire/orderer.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  wire::Decoder decoder;
  process::ProcessTable processes(process::ProcessLimits{.processes = 8,
                                                         .threads = 8,
                                                         .modules = 16,
                                                         .mappings_per_process = 16,
                                                         .mappings = 64,
                                                         .grace_after_exit_ns = 1'000});
  process::Sampler sampler(processes);
  std::uint64_t handed_over = 0;
  wire::Orderer orderer({.delay_ns = 1'000, .max_held = 16}, [&](wire::Event&& event) {
    ++handed_over;
    processes.Apply(event);
    fuzz::Require(processes.Counters().processes <= 8, "bound of processes");
    fuzz::Require(processes.modules().size() <= 16, "bound of modules");
    const auto* stack = std::get_if<wire::StackEvent>(&event);
    if (stack == nullptr) return;
    const process::Sample sample = sampler.Place(*stack);
    fuzz::Require(sample.frames.size() == stack->kernel_frames.size() + stack->user_frames.size(),
                  "no frame is lost");
    fuzz::Require(
        (sample.state == process::State::kBlocked) == (sample.wait != process::WaitReason::kNone),
        "a blocked thread has a wait reason");
  });
  std::uint64_t decoded = 0;
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  std::span<const std::byte> bytes;
  while (recording::TakeEvent(rest, bytes)) {
    Result<wire::Event> event = decoder.Decode({bytes});
    if (!event) continue;
    ++decoded;
    orderer.Push(*std::move(event));
    fuzz::Require(orderer.held() <= 16, "bound of the orderer");
  }
  orderer.Flush();
  fuzz::Require(handed_over == decoded, "each event comes out once");
  return 0;
}
