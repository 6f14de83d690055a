// StackTree: all stacks of a profile merged by the names of their frames; what folded and svg draw.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/profile/options.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// What the colour of a frame says.
enum class NodeKind : std::uint8_t {
  kAll,
  kProcess,
  kThread,
  kNative,
  kKernel,
  kPython,
  kJit,
  kPseudo,
  kWorking,
  kSpinning,
  kRunnable,
  kBlocked,
  kPath  // on whom a blocked thread waits; behind its state
};

struct TreeNode {
  std::uint32_t parent = 0;  // stands before its children; node 0 is the root, kAll
  std::uint32_t label = 0;   // index into labels
  NodeKind kind = NodeKind::kAll;
  // Where it comes from: an index into the profile's frames, or kNoFrame. Frames of one name are
  // merged; the first of them is kept, and the lines they span as long as the file is the same.
  std::uint32_t frame = kNoFrame;
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::uint64_t self_ns = 0;        // of stacks that end here
  std::uint64_t self_count = 0;     // samples behind self_ns
  std::uint64_t self_exact_ns = 0;  // part of self_ns that was measured, not sampled

  static constexpr std::uint32_t kNoFrame = ~0u;
};

// How a thread's state ends its stacks.
enum class StateFrames {
  kNone,     // not at all
  kWaiting,  // "[spinning]", "[runnable]", "[blocked:...]"; a working stack ends in its function
  kAll       // and "[working]"
};

// What stacks hang on. A program: all processes of it, which are one where there is only one.
// Names: those of processes, and of their threads, without ids and numbers, which are others in the
// next profile.
enum class StackRoots { kProcesses, kThreads, kPrograms, kNames, kThreadNames };

struct StackTree {
  std::vector<TreeNode> nodes;
  std::vector<std::string> labels;
  std::vector<std::uint32_t> leaves;  // by sample of the profile: the node at which its stack ends

  // `profile` has passed CheckProfile. kExhausted beyond kMaxNodes. Paths (ExportOptions.on_whom)
  // stand behind states, so without these there are none.
  [[nodiscard]] static Result<StackTree> Build(const v1::Profile& profile,
                                               const ExportOptions& options, StateFrames states,
                                               StackRoots roots);
  static constexpr std::size_t kMaxNodes = 8u << 20;

  // All nodes, each directly followed by what is above it; the children of one parent by name, or
  // by `weights` (indexed by node), heaviest first, equal ones by name.
  [[nodiscard]] std::vector<std::uint32_t> ByName() const;
  [[nodiscard]] std::vector<std::uint32_t> ByWeight(std::span<const std::uint64_t> weights) const;
};

}  // namespace profd::client
