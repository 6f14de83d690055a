// Graphviz: draws graphs by its program `dot`, where that is installed.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace profd::client {

// Where `dot` is, by `path` ($PATH). kNotFound, and what to do, if it is not there.
[[nodiscard]] Result<std::string> FindGraphviz(const std::string& path);

// The graph, in the language of Graphviz, as svg, drawn by the program at `dot`. Waits for it. kIo
// with what it says: it failed. Main thread.
[[nodiscard]] Result<std::string> DrawGraph(const std::string& dot, const std::string& graph);

}  // namespace profd::client
