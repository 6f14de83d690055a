// LiveSymbols: names for the addresses of this host, within the memory budget.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/app/parts/live_readers.h"
#include "daemon/app/parts/live_shares.h"
#include "daemon/base/clock.h"
#include "daemon/base/named_count.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/elf/sources/object_remote.h"
#include "daemon/elf/sources/recording_object_source.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/recording/recording_writer.h"
#include "daemon/symbolize/cache/caching_symbolizer.h"
#include "daemon/symbolize/cache/timed_symbolizer.h"
#include "daemon/symbolize/live/host_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "daemon/symbolize/live/kernel_symbols.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::app {

// Job: owns what names frames: the symbols of the kernel, of ELF files and of code made at run
// time, the cache of names above them, and what puts them into a recording. Thread: the symbolizer
// thread uses it, except where a method says otherwise. Owner: LiveDaemon.
class LiveSymbols : public pipeline::NameService {
 public:
  // `kept`: symbols of files that are gone. `cache`: what an earlier profd has read; null: nothing
  // is kept. `debug_info`: inlined functions and lines are found,
  // too. `writer`: null if no recording is made. All must outlive this.
  LiveSymbols(const ProcFs& proc, const Clock& clock, budget::MemoryBudget& memory,
              LiveReaders& readers, LiveShares& shares, elf::KeptSymbols& kept,
              reader::AnswerCache* cache, bool debug_info, recording::RecordingWriter* writer);

  [[nodiscard]] symbolize::Symbolizer& symbolizer() override { return symbolizer_; }
  void ReclaimMemory() override;
  void RecordEnvironment() override;

  // CPU time that finding names has taken, in ns. From any thread.
  [[nodiscard]] std::uint64_t spent_ns() const { return timed_.spent_ns(); }
  // Counters and gauges of the caches. From any thread.
  [[nodiscard]] Diagnostics Describe() const;

  // Of the thread that downloads debug files; null: there is none.
  [[nodiscard]] const Heartbeat* downloads() const { return objects_.heartbeat(); }
  [[nodiscard]] budget::MemoryAccount& table_memory() { return host_.elf().memory(); }
  [[nodiscard]] budget::MemoryAccount& name_memory() { return symbolizer_.memory(); }

 private:
  // Decorators that record each answer.
  struct Recorded {
    Recorded(LiveSymbols& live, recording::RecordingWriter& writer);
    symbolize::RecordingKernelSymbols kernel;
    elf::RecordingObjectSource objects;
    symbolize::RecordingJitSymbols jit;
  };

  [[nodiscard]] symbolize::KernelSymbols& Kernel();
  [[nodiscard]] elf::ObjectSource& Objects();
  [[nodiscard]] symbolize::JitSymbols& Jit();

  symbolize::LiveKernelSymbols kernel_;
  elf::ObjectClient objects_;
  symbolize::LiveJitSymbols jit_;
  const std::unique_ptr<Recorded> recorded_;  // null: no recording is made
  symbolize::HostSymbolizer host_;
  symbolize::TimedSymbolizer timed_;
  symbolize::CachingSymbolizer symbolizer_;
};

}  // namespace profd::app
