// MemoryPlan: how much each part of profd may hold, from the cap on all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/elf/debug/debug_pool.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "daemon/symbolize/live/elf_symbolizer.h"

namespace profd::app {

// Bounds of single parts: none takes most of the cap by itself, however hostile what it reads is.
// Together they come to more; that is what the keeper is for.
struct MemoryPlan {
  std::size_t names_bytes;                // answers of the symbolizer
  symbolize::ElfSymbolizer::Options elf;  // symbol tables
  elf::ElfLimits elf_file;                // of one file
  elf::DebugPool::Options debug;
  std::uint64_t unwind_bytes;  // kernel memory of unwind tables
  pipeline::PipelineLimits pipeline;
  aggregate::MergeLimits query;
};

// `gate`: where debug information asks for room.
[[nodiscard]] MemoryPlan PlanMemory(std::uint64_t cap_bytes, budget::MemoryGate* gate = nullptr);

}  // namespace profd::app
