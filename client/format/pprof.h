// pprof: a gzipped profile.proto, for `go tool pprof` and everything else that reads it.
#pragma once

#include "client/format/exporter.h"

namespace profd::client {

// Sample types samples/count, wall/nanoseconds, cpu/nanoseconds and off_cpu/nanoseconds; shown at
// first: wall, or cpu and off_cpu where only that was sampled. Labels: pid, tid, process, thread,
// state, wait. Stacks hold functions only: -tagroot=process,thread and -tagleaf=state,wait put the
// rest back. Addresses are offsets in the module's file.
class PprofExporter : public Exporter {
 public:
  [[nodiscard]] std::string_view name() const override { return "pprof"; }
  [[nodiscard]] std::span<const std::string_view> extensions() const override;
  [[nodiscard]] std::string_view description() const override;
  [[nodiscard]] Result<void> Write(const v1::Profile& profile, const ExportOptions& options,
                                   std::ostream& out) const override;
};

}  // namespace profd::client
