// speedscope: a profile per thread, in ns and in order of time.
#pragma once

#include "client/format/exporter.h"

namespace profd::client {

// The file format of https://www.speedscope.app (file-format-schema.json of the npm package
// speedscope). Samples stand one after another, each as wide as its weight, so that in a wall or
// off-CPU profile the Time Order view is a timeline; equal neighbours are one. A thread without
// samples has no profile.
class SpeedscopeExporter : public Exporter {
 public:
  [[nodiscard]] std::string_view name() const override { return "speedscope"; }
  [[nodiscard]] std::span<const std::string_view> extensions() const override;
  [[nodiscard]] std::string_view description() const override;
  [[nodiscard]] Result<void> Write(const v1::Profile& profile, const ExportOptions& options,
                                   std::ostream& out) const override;
};

}  // namespace profd::client
