#include "client/export/svg.h"

#include <array>

#include "client/export/check_profile.h"
#include "client/export/escape.h"
#include "client/export/svg_assets.h"
#include "client/export/svg_parts.h"
#include "client/export/svg_picture.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kMargin = 12;
// A graph without frames has this place for saying so.
constexpr std::uint32_t kEmptyHeight = 60;

void OpenPane(std::string_view id, std::uint32_t rows, std::ostream& out) {
  out << "<svg id=\"" << id << R"(" x="1%" y=")" << kSvgHeadHeight << R"(" width="98%" height=")"
      << rows * kSvgRowHeight << "\">\n";
}

void WriteGraph(const v1::Profile& profile, const FlameGraph& graph, const SvgPicture& picture,
                std::ostream& out) {
  if (graph.nodes.empty()) {
    out << R"(<text class="title" x="1%" y=")" << kSvgHeadHeight + kEmptyHeight / 2
        << "\">There are no samples in this profile.</text>\n";
    return;
  }
  OpenPane("graph", picture.rows(), out);
  out << R"(<g id="frames"/></svg>)" << '\n';
  // The script comes first: where it runs, the picture behind it is never drawn.
  out << R"(<script type="application/json" id="data">)";
  WriteSvgData(profile, graph, out);
  out << "</script>\n<script><![CDATA[\n" << kSvgScript << "]]></script>\n";
  OpenPane("still", picture.rows(), out);
  picture.Write(out);
  out << "</svg>\n";
}

}  // namespace

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
  const std::uint32_t height =
      kSvgHeadHeight + kMargin +
      (graph->nodes.empty() ? kEmptyHeight : picture.rows() * kSvgRowHeight);

  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << R"(<svg xmlns="http://www.w3.org/2000/svg" width="1200" height=")" << height
      << "\" class=\"page\">\n<title>" << EscapeXml(SvgTitle(profile, options))
      << "</title>\n<style>" << kSvgStyle << "</style>\n"
      << R"(<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" )"
      << "patternTransform=\"rotate(45)\"><rect class=\"hatched\" width=\"6\" height=\"6\"/>"
      << R"(<rect class="hatching" width="2.5" height="6"/></pattern></defs>)" << '\n'
      << R"(<rect class="paper" width="100%" height="100%"/>)" << '\n';
  WriteSvgHead(profile, options, out);
  WriteGraph(profile, *graph, picture, out);
  out << "</svg>\n";
  return FinishStream(out);
}

}  // namespace profd::client
