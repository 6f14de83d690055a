#include "daemon/app/parts/live_readers.h"

#include <functional>

#include "daemon/elf/probes/probe_remote.h"
#include "daemon/elf/sources/object_remote.h"
#include "daemon/labels/label_remote.h"
#include "daemon/python/feed/python_remote.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/observe/observer_parser.h"
#include "daemon/source/observe/observers.h"
#include "daemon/source/procfs/process_texts.h"
#include "daemon/source/sessions/blocked_stacks.h"
#include "daemon/source/steps/step_attacher.h"
#include "daemon/symbolize/live/jit_remote.h"
#include "daemon/unwind/cfi/code_functions.h"
#include "daemon/unwind/service/cfi_remote.h"

namespace profd::app {
namespace {

enum Role : std::uint32_t {
  kUnwindRules,
  kSnapshots,
  kProcesses,
  kObjects,
  kJitCode,
  kPython,
  kObservers,
  kLabels,
  kStepPlaces,
  kStepAttachers,
  kRoles
};

// Images of large files are reserved, not used: the bound on memory that is used is the pool's.
constexpr reader::Limits kFileLimits{.address_space_bytes = 96ull << 30, .cpu_seconds = 3'600};
constexpr reader::Limits kObjectLimits{.address_space_bytes = kFileLimits.address_space_bytes,
                                       .cpu_seconds = kFileLimits.cpu_seconds,
                                       .file_bytes = 4ull << 30};
constexpr reader::Limits kTextLimits{.address_space_bytes = 1u << 30, .cpu_seconds = 3'600};
// For all time: it is not replaced while it works.
constexpr reader::Limits kObserverLimits{.address_space_bytes = 1u << 30, .runs_programs = true};
// For all time, too: what it has attached ends with it.
constexpr reader::Limits kAttacherLimits{.address_space_bytes = 1u << 30,
                                         .attaches_programs = true};
constexpr reader::Limits kListLimits{.address_space_bytes = 4ull << 30, .cpu_seconds = 3'600};

}  // namespace

Result<std::unique_ptr<reader::Zygote>> StartZygote() {
  std::vector<reader::Role> roles(kRoles);
  roles[kUnwindRules] = {"profd-rules", kFileLimits,
                         [] { return std::make_unique<unwind::CfiParser>(); }};
  roles[kSnapshots] = {"profd-snapshot", kListLimits,
                       [] { return std::make_unique<source::IteratorParser>(); }};
  roles[kProcesses] = {"profd-process", kTextLimits,
                       [] { return std::make_unique<source::ProcessTextParser>(); }, true};
  roles[kObjects] = {
      "profd-symbols", kObjectLimits, [] {
        return std::make_unique<elf::ObjectParser>(std::make_unique<unwind::CodeFunctions>());
      }};
  roles[kJitCode] = {"profd-jit", kListLimits,
                     [] { return std::make_unique<symbolize::JitParser>(); }};
  roles[kPython] = {"profd-python", kListLimits,
                    [] { return std::make_unique<python::PythonParser>(); }};
  roles[kObservers] = {"profd-observer", kObserverLimits,
                       [] { return std::make_unique<source::ObserverParser>(); }};
  roles[kLabels] = {"profd-labels", kListLimits,
                    [] { return std::make_unique<labels::LabelParser>(); }};
  roles[kStepPlaces] = {"profd-places", kFileLimits,
                        [] { return std::make_unique<elf::ProbeParser>(); }};
  roles[kStepAttachers] = {"profd-steps", kAttacherLimits,
                           [] { return std::make_unique<source::StepAttacher>(); }, true};
  return reader::Zygote::Start(std::move(roles));
}

LiveReaders::LiveReaders(reader::Zygote& zygote)
    : zygote_(zygote),
      unwind_rules_(
          zygote, kUnwindRules,
          {.holds = "readers of unwind rules", .idle = reader::ReaderPool::Milliseconds(5'000)}),
      // A host of 100,000 threads with deep stacks has 256 MiB of them.
      snapshots_(zygote, kSnapshots,
                 {.holds = "readers of blocked stacks",
                  .processes = 2,
                  .deadline = source::BlockedStacks::kTimeout,
                  .answer_bytes = 256u << 20,
                  .pauses = false}),
      processes_(zygote, kProcesses,
                 {.holds = "readers of processes",
                  .processes = 4,
                  .deadline = source::ProcessTextClient::kDeadline,
                  .idle = reader::ReaderPool::Milliseconds(600'000)}),
      // Debug information of a large program takes seconds to open.
      objects_(zygote, kObjects,
               {.holds = "readers of symbols",
                .processes = 4,
                .deadline = reader::ReaderPool::Milliseconds(20'000),
                .answer_bytes = 256u << 20}),
      jit_code_(zygote, kJitCode, {.holds = "readers of code made at run time"}),
      // A user whose processes hang leaves readers for the others. And the next sample may need one
      // at once: one that starts knows no file.
      python_(zygote, kPython,
              {.holds = "readers of Python code",
               .processes = 6,
               .idle = reader::ReaderPool::Milliseconds(600'000)}),
      // One for each stream, and others while one hangs.
      observers_(zygote, kObservers,
                 {.holds = "observers",
                  .processes = 4,
                  .deadline = source::Observers::kDeadline,
                  .pauses = false}),
      labels_(zygote, kLabels, {.holds = "readers of labels", .processes = 2}),
      // The symbols of PyTorch take a second.
      step_places_(zygote, kStepPlaces,
                   {.holds = "readers of step places",
                    .processes = 2,
                    .deadline = reader::ReaderPool::Milliseconds(20'000),
                    .idle = reader::ReaderPool::Milliseconds(5'000)}) {}

Result<reader::ReaderProcess> LiveReaders::MakeStepAttacher() {
  return zygote_.Make(kStepAttachers);
}

std::vector<const Heartbeat*> LiveReaders::heartbeats() const {
  std::vector<const Heartbeat*> threads;
  for (const auto* pool : pools()) threads.push_back(&pool->heartbeat());
  return threads;
}

void LiveReaders::Check(HealthReport& report) const {
  if (const auto why = zygote_.Trouble(); !why.empty())
    report.failed.push_back("readers: the process that makes them " + why);
  for (const auto* pool : pools()) {
    if (const auto why = pool->WhyNoneStarts(); !why.empty())
      report.degraded.push_back(std::string(pool->holds()) + ": " + why);
  }
}

void LiveReaders::EndAt(std::chrono::steady_clock::time_point names,
                        std::chrono::steady_clock::time_point stacks) {
  for (auto* pool :
       {&unwind_rules_, &processes_, &objects_, &jit_code_, &python_, &labels_, &step_places_})
    pool->EndAt(names);
  snapshots_.EndAt(stacks);
  observers_.EndAt(stacks);
}

std::uint64_t LiveReaders::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto* pool : pools()) bytes += pool->bytes();
  return bytes;
}

std::vector<budget::MemoryAccount*> LiveReaders::MemoryAccounts() {
  return {&unwind_rules_.memory(), &snapshots_.memory(), &processes_.memory(),
          &objects_.memory(),      &jit_code_.memory(),  &python_.memory(),
          &observers_.memory(),    &labels_.memory(),    &step_places_.memory()};
}

std::vector<std::string> LiveReaders::Troubles() const {
  std::vector<std::string> troubles;
  for (const auto* pool : pools()) {
    for (const reader::Trouble& one : pool->troubles()) {
      const std::string tries = one.tries == 1 ? "once" : std::to_string(one.tries) + " times";
      troubles.push_back(one.name + ": " + one.why + ", tried " + tries);
    }
  }
  return troubles;
}

Diagnostics LiveReaders::Describe() const {
  std::uint64_t stuck = 0;
  std::uint64_t troubles = 0;
  std::uint64_t late = 0;
  std::uint64_t ended = 0;
  std::uint64_t oversize = 0;
  std::uint64_t refused = 0;
  for (const auto* pool : pools()) {
    stuck += pool->stuck();
    troubles += pool->troubles().size();
    late += pool->counters().late.value();
    ended += pool->counters().ended.value();
    oversize += pool->counters().oversize.value();
    refused += pool->counters().refused.value();
  }
  Diagnostics described;
  described.gauges = {
      {"reader_bytes", "bytes of memory that reader processes hold", bytes()},
      {"reader_stuck", "reader processes that were killed and do not end", stuck},
      {"reader_troubles", "files and processes that readers cannot read for now", troubles}};
  described.counters = {
      {"reader_late", "reader processes that were killed because a file or process did not answer",
       late},
      {"reader_ended", "reader processes that ended while they read", ended},
      {"reader_oversize", "reader processes that were replaced because they held too much memory",
       oversize},
      {"reader_refused", "requests to readers that were refused because the target is in trouble",
       refused}};
  return described;
}

}  // namespace profd::app
