#include "daemon/source/perf/side_band.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/source/perf/cpu_list.h"
#include "daemon/source/perf/perf_event.h"
#include "daemon/source/perf/side_band_record.h"

namespace profd::source {
namespace {

// 256 KiB a CPU: some 2,000 mappings, 200 program starts, between two polls.
constexpr std::size_t kRingPages = 64;

perf_event_attr SideBandAttr() {
  perf_event_attr attr = MakePerfAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_TIME;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

}  // namespace

Result<SideBand::Cpu> SideBand::OpenCpu(std::uint32_t number) const {
  auto event = OpenCpuEvent(SideBandAttr(), number, "side-band event for mappings");
  if (!event) return event.error();
  auto ring = PerfRing::Map(*event, kRingPages);
  if (!ring) return ring.error();
  return Cpu{number, *std::move(event), *std::move(ring), 0};
}

Result<void> SideBand::Open() {
  const std::scoped_lock lock(mutex_);
  if (open_) return {};
  const auto online = OnlineCpus(sys_root_);
  if (!online) return online.error();
  std::vector<Cpu> cpus;
  for (const std::uint32_t number : *online) {
    auto cpu = OpenCpu(number);
    if (!cpu && cpu.error().code == ErrorCode::kNotFound) continue;  // went offline just now
    if (!cpu) return cpu.error();
    cpus.push_back(*std::move(cpu));
  }
  cpus_ = std::move(cpus);
  open_ = true;
  return {};
}

void SideBand::Close() {
  const std::scoped_lock lock(mutex_);
  open_ = false;
  for (Cpu& cpu : cpus_) Rescue(cpu);
  cpus_.clear();
}

void SideBand::DrainCpu(Cpu& cpu, const Skip& skip, const Sink& sink) {
  const bool sound = cpu.ring.Drain([&](std::span<const std::byte> record) {
    if (const auto pid = MappingPid(record); pid && skip(*pid)) return;
    SideBandRecord decoded = DecodeSideBand(record, cpu.number);
    lost_ += decoded.lost;
    malformed_ += decoded.malformed ? 1 : 0;
    if (decoded.mmap) sink(*std::move(decoded.mmap));
  });
  malformed_ += sound ? 0 : 1;
}

void SideBand::Rescue(Cpu& cpu) {
  DrainCpu(
      cpu, [](std::uint32_t /*pid*/) { return false; },
      [this](wire::EventBytes event) { rescued_.push_back(std::move(event)); });
}

void SideBand::Drain(const Skip& skip, const Sink& sink) {
  const std::scoped_lock lock(mutex_);
  for (wire::EventBytes& event : rescued_) sink(std::move(event));
  rescued_.clear();
  for (Cpu& cpu : cpus_) DrainCpu(cpu, skip, sink);
}

void SideBand::Refresh() {
  const std::scoped_lock lock(mutex_);
  if (!open_) return;
  const auto online = OnlineCpus(sys_root_);
  if (!online) return;
  std::erase_if(cpus_, [&](Cpu& cpu) {
    const std::uint64_t before_ns = std::exchange(cpu.enabled_ns, TimeEnabledNs(cpu.event));
    if (cpu.enabled_ns > before_ns && std::ranges::binary_search(*online, cpu.number)) return false;
    Rescue(cpu);
    return true;
  });
  for (const std::uint32_t number : *online) {
    if (std::ranges::any_of(cpus_, [&](const Cpu& cpu) { return cpu.number == number; })) continue;
    // A CPU on its way out fails here and is tried again at the next call.
    if (auto cpu = OpenCpu(number)) cpus_.push_back(*std::move(cpu));
  }
}

std::uint64_t SideBand::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

std::uint64_t SideBand::malformed() const {
  const std::scoped_lock lock(mutex_);
  return malformed_;
}

std::uint64_t SideBand::ring_bytes() const {
  const std::scoped_lock lock(mutex_);
  return cpus_.size() * (kRingPages + 1) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace profd::source
