#include "client/format/svg.h"

#include <array>

#include "client/format/svg_parts.h"
#include "client/format/svg_picture.h"
#include "client/profile/check_profile.h"

namespace profd::client {
std::span<const std::string_view> SvgExporter::extensions() const {
  static constexpr std::array<std::string_view, 1> kExtensions{".svg"};
  return kExtensions;
}

std::string_view SvgExporter::description() const {
  return "a flame graph to click through: any browser";
}

Result<void> SvgExporter::Write(const v1::Profile& profile, const ExportOptions& options,
                                std::ostream& out) const {
  PROFD_TRY(CheckProfile(profile));
  const auto graph = FlameGraph::Build(profile, options);
  if (!graph) return graph.error();
  const SvgPicture picture(*graph);
  const ProfileFrames frames(profile, *graph);
  WriteSvgPage(
      {.title = SvgTitle(profile, options), .rows = picture.rows()},
      [&](std::ostream& to) { WriteSvgHead(profile, options, to); },
      [&](std::ostream& to) { WriteSvgData(*graph, frames, {}, to); },
      [&](std::ostream& to) { picture.Write(frames, to); }, out);
  return FinishStream(out);
}

}  // namespace profd::client
