// LiveReaders: the reader processes of a daemon that profiles this host.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/app/parts/health.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/named_count.h"
#include "daemon/base/result.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"

namespace profd::app {

// Call it first of all in main(): the zygote is forked from this process, which must have one
// thread.
[[nodiscard]] Result<std::unique_ptr<reader::Zygote>> StartZygote();

// Job: a pool for each kind of request. Thread: any. Owner: LiveDaemon; the zygote outlives it.
class LiveReaders {
 public:
  explicit LiveReaders(reader::Zygote& zygote);

  // For unwind::CfiClient.
  [[nodiscard]] reader::Readers& unwind_rules() { return unwind_rules_; }
  // For source::BpfSource.
  [[nodiscard]] reader::Readers& snapshots() { return snapshots_; }
  // For source::ProcessTextClient.
  [[nodiscard]] reader::Readers& processes() { return processes_; }
  // For elf::ObjectClient.
  [[nodiscard]] reader::Readers& objects() { return objects_; }
  // For symbolize::JitClient.
  [[nodiscard]] reader::Readers& jit_code() { return jit_code_; }
  // For source::Observers.
  [[nodiscard]] reader::Readers& observers() { return observers_; }
  // For elf::StepPlaces.
  [[nodiscard]] reader::Readers& step_places() { return step_places_; }
  // For source::StepProbes: one for each session.
  [[nodiscard]] Result<reader::ReaderProcess> MakeStepAttacher();
  // For python::PythonClient.
  [[nodiscard]] reader::Readers& python() { return python_; }

  // For labels::LabelClient.
  [[nodiscard]] reader::Readers& labels() { return labels_; }

  // Of the threads that watch readers.
  [[nodiscard]] std::vector<const Heartbeat*> heartbeats() const;
  // Adds which readers do not work.
  void Check(HealthReport& report) const;
  // profd is ending: when names are no longer looked for, and stacks no longer read.
  void EndAt(std::chrono::steady_clock::time_point names,
             std::chrono::steady_clock::time_point stacks);
  // Private memory of all readers, as last measured, in bytes.
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::vector<budget::MemoryAccount*> MemoryAccounts();
  // What cannot be read now, and why; "name: why, tried 3 times".
  [[nodiscard]] std::vector<std::string> Troubles() const;
  [[nodiscard]] Diagnostics Describe() const;

 private:
  [[nodiscard]] std::vector<const reader::ReaderPool*> pools() const {
    return {&unwind_rules_, &snapshots_, &processes_, &objects_,    &jit_code_,
            &python_,       &observers_, &labels_,    &step_places_};
  }

  reader::Zygote& zygote_;
  reader::ReaderPool unwind_rules_;
  reader::ReaderPool snapshots_;
  reader::ReaderPool processes_;
  reader::ReaderPool objects_;
  reader::ReaderPool jit_code_;
  reader::ReaderPool python_;
  reader::ReaderPool observers_;
  reader::ReaderPool labels_;
  reader::ReaderPool step_places_;
};

}  // namespace profd::app
