#include "daemon/budget/cpu/cpu_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <utility>

namespace profd::budget {

CpuThread::CpuThread(session::SessionControl& control, const Clock& clock, double clock_limit_cpus,
                     std::function<Work()> work,
                     std::function<std::optional<std::uint64_t>()> host_switches)
    : control_(control),
      clock_(clock),
      work_(std::move(work)),
      host_switches_(std::move(host_switches)),
      controller_(clock_limit_cpus),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

CpuThread::~CpuThread() { Stop(); }

void CpuThread::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

CpuStatus CpuThread::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void CpuThread::Run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-budget");
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  const auto pause = [&]() -> std::chrono::nanoseconds {
    if (controller_.needs_frequent_readings()) return kFrequent;
    return std::chrono::nanoseconds(kMeasurementNs);
  };
  const Heartbeat::Working working(beat_);
  while (!stopped.wait_for(lock, stop, pause(), [&] { return stop.stop_requested(); })) {
    Update();
    beat_.Beat();
  }
}

void CpuThread::Update() {
  const session::BudgetReading kernel = control_.Budget();
  const Work work = work_();
  CpuController::Reading reading{.now_ns = clock_.MonotonicNs(),
                                 .kernel = kernel,
                                 .stages_ns = work.stages_ns,
                                 .samples = work.samples,
                                 .snapshots = work.snapshots,
                                 .others = work.others,
                                 .host_switches = std::nullopt};
  if (reading.now_ns - switches_read_ns_ >= kSwitchesApartNs) {
    switches_read_ns_ = reading.now_ns;
    reading.host_switches = host_switches_();
  }
  const CpuController::Changes changes = controller_.Update(reading);
  if (changes.hooks_refused && !control_.RefuseHooks(*changes.hooks_refused))
    controller_.AllowHooks();
  {
    const std::scoped_lock lock(mutex_);
    status_ = controller_.status();
  }
  if (changes.factors) control_.SetPeriodFactors(*changes.factors);
}

}  // namespace profd::budget
