#include "daemon/app/parts/live_symbols.h"

#include <algorithm>
#include <cstdint>
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

// The part's own bound, if the budget allows it.
template <typename T>
T Within(T bound, std::uint64_t allowed) {
  return static_cast<T>(std::min<std::uint64_t>(bound, allowed));
}

elf::ElfLimits FileLimits(const budget::MemoryLimits& memory) {
  constexpr std::uint64_t kSymbolBytes = 64;  // in the file, and once more in the table
  elf::ElfLimits limits;
  limits.symbols = Within(limits.symbols, memory.elf_file / kSymbolBytes);
  limits.string_bytes = Within(limits.string_bytes, memory.elf_file);
  limits.table_symbols = limits.symbols / 4;
  limits.table_string_bytes = limits.string_bytes / 4;
  // So that the tables of a hundred files fit, and more of small ones.
  limits.table_bytes = Within(limits.table_bytes, memory.symbol_tables / 128);
  limits.minidebug_bytes = Within(limits.minidebug_bytes, memory.elf_file / 2);
  return limits;
}

elf::ObjectSettings Settings(const budget::MemoryLimits& memory, bool debug_info) {
  elf::ObjectSettings settings;
  settings.elf = FileLimits(memory);
  settings.debug_files = true;
  settings.inlined = debug_info;
  settings.debug_bytes = Within(settings.debug_bytes, memory.debug_info);
  settings.eager_bytes = Within(settings.eager_bytes, memory.elf_file);
  return settings;
}

}  // namespace

LiveSymbols::Recorded::Recorded(LiveSymbols& live, recording::RecordingWriter& writer)
    : kernel(live.kernel_, Into(writer)),
      objects(live.objects_, Into(writer)),
      jit(live.jit_, Into(writer)) {}

LiveSymbols::LiveSymbols(const ProcFs& proc, const Clock& clock, budget::MemoryBudget& memory,
                         LiveReaders& readers, LiveShares& shares, elf::KeptSymbols& kept,
                         reader::AnswerCache* cache, bool debug_info,
                         recording::RecordingWriter* writer)
    : kernel_(proc, clock),
      objects_(readers.objects(), Settings(memory.limits(), debug_info),
               elf::DebugDownload::HasServers() ? &shares.debug_files : nullptr, &memory, &kept,
               cache),
      jit_(readers.jit_code(), clock, shares.jit),
      recorded_(writer != nullptr ? std::make_unique<Recorded>(*this, *writer) : nullptr),
      host_(Kernel(), Objects(), &Jit(), {.held_bytes = memory.limits().symbol_tables}),
      timed_(host_),
      symbolizer_(timed_, memory.limits().names) {}

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
  return symbolize::Describe(symbolizer_, timed_, objects_, jit_.counters());
}

}  // namespace profd::app
