#include "daemon/source/perf/on_cpu_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/source/perf/cpu_list.h"
#include "daemon/source/perf/perf_event.h"
#include "daemon/source/probe/capabilities.h"

namespace profd::source {
namespace {

constexpr std::chrono::seconds kRefreshInterval(1);

perf_event_attr SamplingAttr(session::OnCpuClock clock, std::uint64_t period) {
  const bool cycles = clock == session::OnCpuClock::kHardwareCycles;
  perf_event_attr attr = cycles ? MakePerfAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)
                                : MakePerfAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  attr.sample_period = period;
  attr.disabled = 1;
  attr.exclude_idle = 1;  // the program would throw samples of the idle task away
  return attr;
}

}  // namespace

bool HasHardwareCounters(const std::string& sys_root) {
  constexpr std::array kDrivers{"cpu", "cpu_core"};
  return std::ranges::any_of(kDrivers, [&](const char* driver) {
    return ::access((sys_root + "/bus/event_source/devices/" + driver).c_str(), F_OK) == 0;
  });
}

double NominalCyclesPerNs(const std::string& sys_root, const std::string& proc_root) {
  const auto text =
      ProcFs(sys_root).Read("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", 64);  // kHz
  std::uint64_t khz = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), khz);
  if (khz != 0) return static_cast<double>(khz) / 1e6;
  constexpr std::size_t kMaxCpuInfo = 16u << 20;  // thousands of CPUs
  constexpr std::string_view kLine = "\ncpu MHz\t\t: ";
  const auto info = ProcFs(proc_root).Read("cpuinfo", kMaxCpuInfo);
  const auto line = info ? info->find(kLine) : std::string::npos;
  double mhz = 0;
  if (line != std::string::npos)
    std::from_chars(info->data() + line + kLine.size(), info->data() + info->size(), mhz);
  return mhz > 0 ? mhz / 1e3 : 1.0;
}

OnCpuEvents::OnCpuEvents(int program_fd, std::string sys_root)
    : program_fd_(program_fd),
      sys_root_(std::move(sys_root)),
      jitter_(std::random_device{}()),
      redraw_([this](const std::stop_token& stop) { Redraw(stop); }) {}

Result<void> OnCpuEvents::Run(session::OnCpuClock clock, std::uint64_t period_ns) {
  const std::scoped_lock lock(mutex_);
  if (period_ns_ != 0 && clock != clock_) {
    return Error{ErrorCode::kUnavailable, "a running session samples by another on-CPU clock",
                 "ask for the same clock, or wait for its end"};
  }
  clock_ = clock;
  units_per_ns_ =
      clock == session::OnCpuClock::kHardwareCycles ? NominalCyclesPerNs(sys_root_) : 1.0;
  const std::uint64_t before_ns = std::exchange(period_ns_, period_ns);
  if (before_ns == period_ns) return {};
  if (before_ns != 0) {
    SetPeriods();
  } else if (auto opened = OpenAll(); !opened) {
    cpus_.clear();
    period_ns_ = 0;
    return opened.error();
  }
  changed_.notify_all();
  return {};
}

void OnCpuEvents::Stop() {
  const std::scoped_lock lock(mutex_);
  period_ns_ = 0;
  cpus_.clear();
}

std::uint64_t OnCpuEvents::UnitsOf(std::uint64_t ns) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::uint64_t>(static_cast<double>(ns) * units_per_ns_);
}

session::OnCpuClock OnCpuEvents::clock() const {
  const std::scoped_lock lock(mutex_);
  return clock_;
}

Result<void> OnCpuEvents::OpenAll() {
  const auto online = OnlineCpus(sys_root_);
  if (!online) return online.error();
  for (const std::uint32_t number : *online) {
    auto cpu = OpenCpu(number);
    if (!cpu && cpu.error().code == ErrorCode::kNotFound) continue;  // went offline just now
    if (!cpu) return cpu.error();
    cpus_.push_back(*std::move(cpu));
  }
  return {};
}

Result<OnCpuEvents::Cpu> OnCpuEvents::OpenCpu(std::uint32_t number) {
  const bool cycles = clock_ == session::OnCpuClock::kHardwareCycles;
  auto event = OpenCpuEvent(SamplingAttr(clock_, DrawPeriod()), number,
                            cycles ? "hardware cycle counter" : "on-CPU sampling clock");
  if (!event) return event.error();
  if (::ioctl(event->get(), PERF_EVENT_IOC_SET_BPF, program_fd_) != 0) {
    Error error = ErrorFromErrno(errno, "cannot attach to the on-CPU sampling event");
    if (error.code == ErrorCode::kPermissionDenied) error.hint = RightsHint();
    return error;
  }
  if (::ioctl(event->get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
    return ErrorFromErrno(errno, "cannot enable the on-CPU sampling event");
  return Cpu{number, *std::move(event), 0};
}

std::uint64_t OnCpuEvents::DrawPeriod() {
  const auto period_ns = static_cast<double>(jitter_.DrawPeriodNs(period_ns_));
  return static_cast<std::uint64_t>(period_ns * units_per_ns_);
}

void OnCpuEvents::SetPeriods() {
  for (const Cpu& cpu : cpus_) {
    std::uint64_t period = DrawPeriod();
    // Fails only for a CPU on its way out; Refresh sees to it.
    (void)::ioctl(cpu.event.get(), PERF_EVENT_IOC_PERIOD, &period);
  }
}

void OnCpuEvents::Refresh() {
  const auto online = OnlineCpus(sys_root_);
  if (!online) return;
  std::erase_if(cpus_, [&](Cpu& cpu) {
    const std::uint64_t before_ns = std::exchange(cpu.enabled_ns, TimeEnabledNs(cpu.event));
    return cpu.enabled_ns <= before_ns || !std::ranges::binary_search(*online, cpu.number);
  });
  for (const std::uint32_t number : *online) {
    if (std::ranges::any_of(cpus_, [&](const Cpu& cpu) { return cpu.number == number; })) continue;
    // A CPU on its way out fails here and is tried again at the next call.
    if (auto cpu = OpenCpu(number)) cpus_.push_back(*std::move(cpu));
  }
}

void OnCpuEvents::Redraw(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-periods");
  const Heartbeat::Working working(beat_);
  std::unique_lock lock(mutex_);
  auto refreshed = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    if (period_ns_ == 0) {
      const Heartbeat::Waiting waiting(beat_);
      changed_.wait(lock, stop, [this] { return period_ns_ != 0; });
      refreshed = std::chrono::steady_clock::now();
      continue;
    }
    const std::uint64_t period_ns = period_ns_;
    bool changed = false;
    {
      const Heartbeat::Waiting waiting(beat_);  // for as long as the period
      changed = changed_.wait_for(lock, stop, jitter_.DrawInterval(period_ns),
                                  [&] { return period_ns_ != period_ns; });
    }
    if (changed || stop.stop_requested()) continue;
    SetPeriods();
    if (std::chrono::steady_clock::now() - refreshed < kRefreshInterval) continue;
    refreshed = std::chrono::steady_clock::now();
    Refresh();
  }
}

}  // namespace profd::source
