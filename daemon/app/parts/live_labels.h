// LiveLabels: finds the processes of the host whose threads have labels.
#pragma once

#include <cstdint>

#include "daemon/base/clock.h"
#include "daemon/labels/label_service.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/source/bpf_source.h"

namespace profd::app {

// Job: connects the service that finds labels with the BPF map of such processes. Thread: that of
// the service. Owner: LiveDaemon.
class LiveLabels {
 public:
  // All must outlive this.
  LiveLabels(source::BpfSource& source, reader::Readers& readers, const Clock& clock)
      : map_(source.label_processes()), service_(map_, readers, clock) {}

  [[nodiscard]] labels::LabelService& service() { return service_; }
  [[nodiscard]] const labels::LabelService& service() const { return service_; }

 private:
  class Map : public labels::LabelProcesses {
   public:
    explicit Map(source::LabelProcessMap& map) : map_(map) {}
    bool Put(std::uint32_t pid, const profd_label_process& process) override {
      return map_.Put(pid, process).ok();
    }
    void Remove(std::uint32_t pid) override { map_.Remove(pid); }

   private:
    source::LabelProcessMap& map_;
  };

  Map map_;
  labels::LabelService service_;
};

}  // namespace profd::app
