#include "daemon/app/memory_plan.h"

#include <algorithm>

#include "daemon/pipeline/batch_sender.h"

namespace profd::app {
namespace {

constexpr std::uint64_t kSymbolBytes = 64;  // in the file, and once more in the table
constexpr std::uint64_t kNodeBytes = 48;

std::size_t Batches(std::uint64_t bytes, std::uint64_t item_bytes) {
  return std::max<std::uint64_t>(bytes / item_bytes / pipeline::BatchSender<int>::kBatch, 4);
}

// No more than there was room for without a plan.
template <typename T>
T Least(T bound, std::uint64_t planned) {
  return static_cast<T>(std::min<std::uint64_t>(bound, planned));
}

}  // namespace

MemoryPlan PlanMemory(std::uint64_t cap_bytes, budget::MemoryGate* gate) {
  const std::uint64_t eighth = cap_bytes / 8;
  MemoryPlan plan{.names_bytes = eighth,
                  .elf = {.held_bytes = eighth},
                  .elf_file = {},
                  .debug = {},
                  .unwind_bytes = eighth * 2,
                  .pipeline = {.event_batches = Batches(eighth, pipeline::kEventBytes),
                               .item_batches = Batches(eighth, pipeline::kItemBytes),
                               .session = {}},
                  .query = {}};
  plan.debug.bytes = Least(plan.debug.bytes, eighth * 3 / 2);
  plan.elf_file.symbols = Least(plan.elf_file.symbols, eighth / kSymbolBytes);
  plan.elf_file.string_bytes = Least(plan.elf_file.string_bytes, eighth);
  plan.elf_file.minidebug_bytes = Least(plan.elf_file.minidebug_bytes, eighth / 2);
  plan.debug.limits.elf = plan.elf_file;
  plan.debug.memory = gate;
  plan.debug.limits.eager_bytes = Least(plan.debug.limits.eager_bytes, eighth);
  // A profile takes as much again while it is made, and while it is sent.
  auto& session = plan.pipeline.session;
  session.parts = Least(session.parts, eighth / sizeof(aggregate::SamplePart));
  session.nodes = Least(session.nodes, eighth / kNodeBytes);
  const auto share =
      static_cast<double>(std::min<std::uint64_t>(cap_bytes, 256u << 20)) / (256u << 20);
  const store::SqliteOptions store;
  const auto part = [&](std::size_t bound) {
    return static_cast<std::size_t>(share * static_cast<double>(bound));
  };
  plan.query = {.processes = part(store.query_limits.processes),
                .threads = part(store.query_limits.threads),
                .frames = part(store.query_limits.frames),
                .nodes = part(store.query_limits.nodes),
                .samples = part(store.query_limits.samples)};
  return plan;
}

}  // namespace profd::app
