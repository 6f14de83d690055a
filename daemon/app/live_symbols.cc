#include "daemon/app/live_symbols.h"

#include <functional>
#include <string_view>

#include "daemon/elf/debug/debug_download.h"
#include "daemon/symbolize/cache/name_notes.h"

namespace profd::app {
namespace {

using Record = std::function<void(std::string_view, std::string_view, std::string_view)>;

Record Into(recording::RecordingWriter& writer) {
  return [&writer](std::string_view kind, std::string_view key, std::string_view value) {
    writer.AddEnvironment(kind, key, value);
  };
}

}  // namespace

LiveSymbols::Recorded::Recorded(LiveSymbols& live, recording::RecordingWriter& writer)
    : kernel(live.kernel_, Into(writer)),
      objects(live.objects_, Into(writer)),
      jit(live.jit_, Into(writer)) {}

LiveSymbols::LiveSymbols(const ProcFs& proc, const Clock& clock, const MemoryPlan& plan,
                         bool debug_info, budget::MemoryGate& memory,
                         recording::RecordingWriter* writer)
    : kernel_(proc, clock),
      objects_(proc, plan.elf_file,
               {.inlined = debug_info,
                .download = elf::DebugDownload::HasServers(),
                .pool = plan.debug,
                .memory = &memory}),
      jit_(proc, clock),
      recorded_(writer != nullptr ? std::make_unique<Recorded>(*this, *writer) : nullptr),
      host_(Kernel(), Objects(), &Jit(), plan.elf),
      timed_(host_),
      symbolizer_(timed_, plan.names_bytes) {}

symbolize::KernelSymbols& LiveSymbols::Kernel() {
  if (recorded_) return recorded_->kernel;
  return kernel_;
}

elf::ObjectSource& LiveSymbols::Objects() {
  if (recorded_) return recorded_->objects;
  return objects_;
}

symbolize::JitSymbols& LiveSymbols::Jit() {
  if (recorded_) return recorded_->jit;
  return jit_;
}

void LiveSymbols::ReclaimMemory() {
  if (objects_.pool() != nullptr) objects_.pool()->GiveUp();
  host_.elf().GiveUp();
  symbolizer_.GiveUp();
}

void LiveSymbols::RecordEnvironment() {
  if (!recorded_) return;
  recorded_->kernel.Flush();
  recorded_->objects.Flush();
  recorded_->jit.Flush();
}

Diagnostics LiveSymbols::Describe() const {
  return symbolize::Describe(symbolizer_, timed_, objects_);
}

budget::MemoryShare* LiveSymbols::debug_memory() {
  return objects_.pool() == nullptr ? nullptr : &objects_.pool()->memory();
}

}  // namespace profd::app
