// A call tree of a report, as lines for people and as a sheet for programs.
#pragma once

#include <cstddef>
#include <string>

#include "client/profile/report/call_tree.h"
#include "client/profile/report/report_question.h"
#include "client/screens/report/report_sheet.h"
#include "client/screens/report/report_view.h"

namespace profd::client {

struct TreeCut {
  double least_share = 0.01;  // of all time: lighter nodes are counted, not shown
  std::size_t depth = 100;    // so many levels below the root are shown
};

// A line a node, those below it indented, with total, self and the states of total. `title` says
// what the tree is.
[[nodiscard]] std::string RenderTree(const CallTree& tree, const std::string& title,
                                     const ReportScale& scale, const TreeCut& cut,
                                     const ReportViewOptions& options);

// All nodes, each followed by what is below it: depth, name, functions of a group, times.
[[nodiscard]] ReportSheet SheetOf(const CallTree& tree);

}  // namespace profd::client
