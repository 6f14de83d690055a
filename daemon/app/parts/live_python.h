// LivePython: finds the Python interpreters of the host's processes.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/source/bpf_source.h"

namespace profd::app {

// Job: connects the Python service with the BPF map of interpreters on one side and with the queue
// of facts for the event chain on the other. Thread: that of the Python service. Owner: LiveDaemon.
class LivePython {
 public:
  // Both must outlive this.
  LivePython(source::BpfSource& source, reader::Readers& readers, budget::Shares& searches)
      : map_(source.python_processes()), service_(map_, facts_, readers, searches, ProcFs()) {}

  [[nodiscard]] python::PythonService& service() { return service_; }
  [[nodiscard]] const python::PythonService& service() const { return service_; }
  [[nodiscard]] python::FactQueue& facts() { return facts_; }

 private:
  // Writes interpreters into the map of the BPF programs.
  class Map : public python::PythonProcesses {
   public:
    explicit Map(source::PythonProcessMap& map) : map_(map) {}
    bool Put(std::uint32_t pid, std::span<const profd_python_process> runtimes) override {
      return map_.Put(pid, runtimes).ok();
    }
    void Remove(std::uint32_t pid) override { map_.Remove(pid); }

   private:
    source::PythonProcessMap& map_;
  };

  Map map_;
  python::FactQueue facts_;
  python::PythonService service_;
};

}  // namespace profd::app
