// LiveDaemon: a daemon that profiles this host.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/app/daemon.h"
#include "daemon/app/ending.h"
#include "daemon/app/front_end.h"
#include "daemon/app/parts/event_chain.h"
#include "daemon/app/parts/live_labels.h"
#include "daemon/app/parts/live_python.h"
#include "daemon/app/parts/live_readers.h"
#include "daemon/app/parts/live_shares.h"
#include "daemon/app/parts/live_symbols.h"
#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/budget/cpu/cpu_thread.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/budget/memory/memory_thread.h"
#include "daemon/config/options.h"
#include "daemon/containers/container_directory.h"
#include "daemon/history/history_recorder.h"
#include "daemon/pipeline/labelled_processes.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/status.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/recording/recording_writer.h"
#include "daemon/server/grpc/transport/server.h"
#include "daemon/source/bpf_source.h"
#include "daemon/source/procfs/process_texts.h"
#include "daemon/store/api/profile_store.h"
#include "daemon/unwind/service/table_service.h"

namespace profd::app {

// Job: connects the BPF source, the chain of event sources, the pipeline, the history, the budgets
// and the front end, and takes them down in order. Thread: the main thread makes and stops it;
// Status() may be called from any thread. Owner: main(), through Daemon.
class LiveDaemon : public Daemon, public pipeline::StatusSource {
 public:
  // Serves when it returns. `rules`, `zygote`, `exports`, `clock` and `logger` must outlive the
  // daemon. `exports` null: there are none.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> Start(
      const config::Options& options, server::InheritedSockets sockets,
      const rules::CurrentRules& rules, reader::Zygote& zygote, const fleet::ExportProcess* exports,
      const SystemClock& clock, spdlog::logger& logger);

  // What can fail, made by Start.
  struct Parts {
    std::unique_ptr<budget::MemoryBudget> memory;
    std::unique_ptr<LiveReaders> readers;  // before all that ask them
    std::unique_ptr<LiveShares> shares;    // ... and that use them
    std::unique_ptr<source::BpfSource> source;
    std::unique_ptr<elf::KeptSymbols> kept;
    std::unique_ptr<reader::AnswerCache> cache;  // null: nothing is kept on disk
    std::unique_ptr<unwind::TableService> tables;
    std::unique_ptr<LivePython> python;
    std::unique_ptr<LiveLabels> labels;
    std::unique_ptr<containers::ContainerDirectory> container_names;
    std::unique_ptr<recording::RecordingWriter> writer;  // null: no recording is made
    aggregate::ProfileOrigin origin;
    std::unique_ptr<store::ProfileStore> store;  // null: no history is kept; goes to the recorder
    const fleet::ExportProcess* exports = nullptr;
  };
  LiveDaemon(Parts parts, const config::Options& options, const rules::CurrentRules& rules,
             const SystemClock& clock, spdlog::logger& logger);

  [[nodiscard]] const Health& health() const override { return health_; }
  void ReportHealth(bool works) const override { front_end_.ReportHealth(works); }
  Result<void> Stop(Ending& ending) override;
  [[nodiscard]] pipeline::BackendStatus Status() const override;
  [[nodiscard]] std::vector<unwind::CodeCoverage> Code() const override {
    return parts_.tables->coverages().All();
  }

 private:
  [[nodiscard]] pipeline::LivePipeline::Parts PipelineParts(const SystemClock& clock,
                                                            spdlog::logger& logger);
  [[nodiscard]] FrontEnd::Parts FrontEndParts(const rules::CurrentRules& rules,
                                              const SystemClock& clock, spdlog::logger& logger);
  [[nodiscard]] budget::CpuThread::Work WorkDone();
  [[nodiscard]] std::vector<budget::MemoryAccount*> MemoryAccounts();
  [[nodiscard]] std::int64_t KernelBytesBeyondResident() const;
  void WatchHealth();

  const ProcFs proc_;
  const std::string recording_file_;
  spdlog::logger& logger_;
  Parts parts_;
  source::ProcessTextClient texts_;
  pipeline::LabelledProcesses labelled_;
  EventChain events_;
  LiveSymbols symbols_;
  pipeline::LivePipeline pipeline_;
  budget::CpuThread cpu_budget_;
  budget::MemoryThread memory_budget_;
  const std::unique_ptr<history::HistoryRecorder> history_;
  Health health_;
  FrontEnd front_end_;
};

}  // namespace profd::app
