// What finding names has cost, and what had none, in words.
#pragma once

#include "daemon/base/named_count.h"
#include "daemon/elf/sources/object_remote.h"
#include "daemon/symbolize/cache/caching_symbolizer.h"
#include "daemon/symbolize/cache/timed_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"

namespace profd::symbolize {

// Those that are zero, too.
[[nodiscard]] Diagnostics Describe(const symbolize::CachingSymbolizer& cache,
                                   const symbolize::TimedSymbolizer& behind_it,
                                   const elf::ObjectClient& files,
                                   const LiveJitSymbols::Counters& registered);

}  // namespace profd::symbolize
