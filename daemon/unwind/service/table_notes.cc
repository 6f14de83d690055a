#include "daemon/unwind/service/table_notes.h"

namespace profd::unwind {

Diagnostics Describe(const unwind::TableService& tables) {
  Diagnostics report;
  const auto level = [&](const Counter& counter, const char* name, const char* text) {
    report.gauges.push_back({name, text, counter.value()});
  };
  const auto add = [&](const Counter& counter, const char* name, const char* text) {
    report.counters.push_back({name, text, counter.value()});
  };
  const unwind::StoreCounters& store = tables.store_counters();
  level(store.files, "unwind_files", "files known to the unwinder");
  level(store.rows, "unwind_rows", "rows of unwind tables loaded");
  level(store.chunks, "unwind_chunks", "chunks of 64 KiB of code with unwind tables");
  level(store.bytes, "unwind_bytes", "bytes of unwind tables in use");
  level(store.memory, "unwind_memory", "bytes of kernel memory for unwind tables");
  report.gauges.push_back(
      {"unwind_cap", "bytes of kernel memory that unwind tables may take", tables.cap_bytes()});
  add(store.evictions, "unwind_evictions", "chunks given up to make room for others");
  add(store.crowded, "unwind_crowded", "chunks not loaded: no room");
  add(store.cut, "unwind_cut", "blocks of code with more rows or rules than fit");
  const unwind::ServiceCounters& service = tables.counters();
  add(service.wanted, "unwind_wanted", "requests for unwind tables");
  add(service.repeated, "unwind_repeated", "of those, for what was requested already");
  add(service.queue_full, "unwind_queue_full", "requests for unwind tables dropped: too many");
  add(service.files_read, "unwind_files_read", "files whose unwind tables were made");
  add(service.prefetched, "unwind_prefetched", "of those, before they were requested");
  add(service.no_tables, "unwind_no_tables", "files without usable unwind tables");
  add(service.code_bytes, "unwind_code_bytes",
      "bytes of code with unwind rules made from the code");
  add(service.registered, "unwind_registered",
      "bytes of code with unwind rules that its program registered for debuggers");
  add(service.code_bare, "unwind_code_bare", "bytes of code without any unwind rule");
  add(service.gone, "unwind_gone", "mappings gone before their tables could be made");
  add(service.changed, "unwind_changed", "files changed before their tables could be made");
  add(service.rewritten, "unwind_rewritten", "chunks of code made at run time that have changed");
  add(service.damaged, "unwind_damaged", "entries of .eh_frame that made no sense");
  return report;
}

}  // namespace profd::unwind
