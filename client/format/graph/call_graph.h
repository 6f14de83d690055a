// CallGraph: the functions of a profile, their own time, and what they call.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/profile/options.h"
#include "client/profile/report/report_time.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A function by name, file and module. Texts are safe; the name is never empty, "[no stack]" is
// one.
struct GraphFunction {
  std::string name;
  std::string file;    // "": not known
  std::string module;  // "": it has none, as in Python
  friend auto operator<=>(const GraphFunction&, const GraphFunction&) = default;
};

struct GraphPlace {
  std::uint32_t function = 0;
  std::uint32_t line = 0;  // 0: not known
  friend auto operator<=>(const GraphPlace&, const GraphPlace&) = default;
};

// All stacks of a profile as a tree of places in functions. Node 0 is the root, which is none.
struct PlaceTree {
  struct Node {
    std::uint32_t parent = 0;  // stands before its children
    GraphPlace place;
    ReportTime self;  // of stacks that end here
  };

  std::vector<GraphFunction> functions;
  std::vector<Node> nodes;

  // The profile has passed CheckProfile. An inlined function is the same as when it is not inlined.
  [[nodiscard]] static PlaceTree Of(const v1::Profile& profile, const ExportOptions& options);
};

// Time of functions and calls. What functions have themselves adds up to the time of the profile.
//
// With recursion, a stack counts once for each function on it: for the call that its innermost
// frame makes, or for itself if that frame is the leaf. So the own time of a function and that of
// its calls add up to its total; a call from a frame further out has no time.
struct CallGraph {
  std::map<GraphPlace, ReportTime> self;
  std::map<std::pair<GraphPlace, std::uint32_t>, ReportTime>
      calls;                                  // by caller and function called
  std::map<std::uint32_t, ReportTime> roots;  // by function: stacks that begin in it
  std::vector<ReportTime> totals;             // by function: stacks that it is on

  // Linear in the number of nodes.
  [[nodiscard]] static CallGraph Of(const PlaceTree& tree);
};

}  // namespace profd::client
