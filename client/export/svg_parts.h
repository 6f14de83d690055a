// The parts of the svg that are made here; svg.cc puts them together with the style and the script.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "client/export/exporter.h"
#include "client/export/flame_graph.h"

namespace profd::client {

// The head: title, when and how long, the bar of states, the legend, what the numbers rest on.
// Everything is placed in percent of the width and px of height, so that it fits any window.
inline constexpr std::uint32_t kSvgHeadHeight = 190;
inline constexpr std::uint32_t kSvgRowHeight = 18;

[[nodiscard]] std::string SvgTitle(const v1::Profile& profile, const ExportOptions& options);
void WriteSvgHead(const v1::Profile& profile, const ExportOptions& options, std::ostream& out);

// The whole graph as one JSON object that may stand in a <script>; svg/model.js reads it.
void WriteSvgData(const v1::Profile& profile, const FlameGraph& graph, std::ostream& out);

// Class of a frame: the colour of its kind, and one of three shades by its name.
[[nodiscard]] std::string SvgClass(NodeKind kind, std::string_view label);

}  // namespace profd::client
