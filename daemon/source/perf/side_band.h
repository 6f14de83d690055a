// SideBand: what the kernel says of new executable mappings while a session runs.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/source/perf/perf_ring.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// A perf event per online CPU (software, dummy) whose ring takes PERF_RECORD_MMAP2 of every process
// of the machine; pids are those of profd's pid namespace. Closed while no session runs, so that it
// costs nothing then. Fork, exec, comm and exit come from BPF instead.
// All methods may be called from any thread.
class SideBand {
 public:
  using Sink = std::function<void(wire::EventBytes)>;
  // Whether a record of this process is to be left out before it is copied.
  using Skip = std::function<bool(std::uint32_t pid)>;

  explicit SideBand(std::string sys_root = "/sys") : sys_root_(std::move(sys_root)) {}

  // Opens on every CPU that is online; nothing happens when it is open already.
  [[nodiscard]] Result<void> Open();
  // The next Drain still delivers what has come until now.
  void Close();

  // Delivers what has come since the last call; time order holds within a CPU only.
  void Drain(const Skip& skip, const Sink& sink);
  // Opens on CPUs that came, and again on those that went and came. Call about once a second.
  void Refresh();

  [[nodiscard]] std::uint64_t lost() const;       // records the kernel could not write, since start
  [[nodiscard]] std::uint64_t malformed() const;  // records that made no sense
  [[nodiscard]] std::uint64_t ring_bytes() const;

 private:
  struct Cpu {
    std::uint32_t number = 0;
    UniqueFd event;
    PerfRing ring;
    std::uint64_t enabled_ns = 0;  // at the last Refresh
  };
  [[nodiscard]] Result<Cpu> OpenCpu(std::uint32_t number) const;
  void DrainCpu(Cpu& cpu, const Skip& skip, const Sink& sink);
  void Rescue(Cpu& cpu);  // before its ring is closed

  const std::string sys_root_;
  mutable std::mutex mutex_;
  bool open_ = false;
  std::vector<Cpu> cpus_;
  std::vector<wire::EventBytes> rescued_;  // read from rings that were closed since the last Drain
  std::uint64_t lost_ = 0;
  std::uint64_t malformed_ = 0;
};

}  // namespace profd::source
