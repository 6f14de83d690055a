// svg: the flame graph as one self-contained file.
#pragma once

#include "client/format/exporter.h"

namespace profd::client {

// Holds the picture as it is at full width, the whole tree as data, and the script that draws it
// again for zoom, search and window width (svg/). Without script the picture stays. Nothing is
// fetched.
class SvgExporter : public Exporter {
 public:
  [[nodiscard]] std::string_view name() const override { return "svg"; }
  [[nodiscard]] std::span<const std::string_view> extensions() const override;
  [[nodiscard]] std::string_view description() const override;
  [[nodiscard]] Result<void> Write(const v1::Profile& profile, const ExportOptions& options,
                                   std::ostream& out) const override;
};

}  // namespace profd::client
