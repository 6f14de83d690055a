// CallTree: stacks of a profile merged into one tree: both sides of a function, or the whole
// program with its libraries folded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/report/report_table.h"
#include "client/profile/report/report_time.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct CallNode {
  std::uint32_t parent = 0;  // stands before its children; node 0 is the root
  std::uint32_t depth = 0;
  std::string name;        // safe
  std::size_t hidden = 0;  // a group of library functions: how many; 0: it is one function
  ReportTime total;
  ReportTime self;                      // of total: of samples whose stack goes no further
  std::vector<std::uint32_t> children;  // heaviest first, equal ones by name; or in order of time
};

struct CallTree {
  std::vector<CallNode> nodes;
  std::uint64_t all_ns = 0;  // of all samples of the profile, in the tree or not
  bool outwards =
      false;  // below a node are its callers: self is of outermost ones, no time of theirs

  static constexpr std::size_t kMaxNodes = 4u << 20;
};

// For all of them the profile has passed CheckProfile. kExhausted beyond kMaxNodes.

// Who calls `function`, outwards from its outermost frame of each stack: a recursion counts once.
// It is a name with or without the file behind it. kNotFound names some that are like it.
[[nodiscard]] Result<CallTree> CallersOf(std::string_view function, const v1::Profile& profile,
                                         const TableOptions& options);
// What `function` calls, inwards from its innermost frame.
[[nodiscard]] Result<CallTree> CalleesOf(std::string_view function, const v1::Profile& profile,
                                         const TableOptions& options);

enum class TreeOrder {
  kMerged,   // calls of one function by one caller are one
  kTimeline  // only those that follow each other; by thread, in order of time
};

// The root is all; processes are below it where there are several, and threads in a timeline.
// Frames of one package that follow each other, and are not of the program itself, are one node.
// kUnsupported: a timeline of a profile without HasSampleTimes.
[[nodiscard]] Result<CallTree> ProgramTree(const v1::Profile& profile, TreeOrder order,
                                           const TableOptions& options);

}  // namespace profd::client
