#include "client/system/graphviz.h"

#include <utility>

#include "client/system/command_child.h"
#include "client/system/program_output.h"

namespace profd::client {

Result<std::string> FindGraphviz(const std::string& path) {
  const std::string dot = FindProgram("dot", path);
  if (!dot.empty()) return dot;
  return Error{ErrorCode::kNotFound, "cannot draw the graph: dot of Graphviz is not installed",
               "apt install graphviz, or write a .dot file and draw it elsewhere: dot -Tsvg -O "
               "FILE.dot"};
}

Result<std::string> DrawGraph(const std::string& dot, const std::string& graph) {
  Result<std::string> svg = RunProgram(dot, {"-Tsvg"}, graph, {});
  if (svg || svg.error().code != ErrorCode::kIo) return svg;
  Error error = svg.error();
  error.hint = "a .dot file can be drawn elsewhere: dot -Tsvg -O FILE.dot";
  return error;
}

}  // namespace profd::client
