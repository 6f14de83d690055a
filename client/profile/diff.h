// Diff: two profiles as one tree of stacks, each frame with its time in both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/profile/options.h"
#include "client/profile/share_error.h"
#include "client/profile/stack_tree.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct DiffOptions {
  bool absolute = false;  // times as they are; else those of A are scaled to the elapsed time of B
  bool threads = false;   // the second frame is the thread's name
  bool signatures = false;
  bool mangled = false;
  PathDetail on_whom = PathDetail::kNone;  // paths are part of the tree
  std::string a_name{};                    // what the sides are called: files
  std::string b_name{};
};

// Time in A and in B, and the samples it rests on.
struct DiffTime {
  std::uint64_t a_ns = 0;
  std::uint64_t b_ns = 0;
  std::uint64_t a_count = 0;
  std::uint64_t b_count = 0;
  std::uint64_t a_exact_ns = 0;  // part that was measured, not sampled
  std::uint64_t b_exact_ns = 0;
  ErrorSum a_error{};  // of A as it is, not scaled
  ErrorSum b_error{};

  DiffTime& operator+=(const DiffTime& other);
  // b - a; both fit into 63 bits.
  [[nodiscard]] std::int64_t change_ns() const {
    return static_cast<std::int64_t>(b_ns) - static_cast<std::int64_t>(a_ns);
  }
  [[nodiscard]] bool empty() const { return a_ns == 0 && b_ns == 0; }
};

// What is compared at once.
struct ComparedTimes {
  double scale_of_a = 1;  // of what is in DiffTime
  std::size_t rows = 1;   // pairs of times
};

// Whether two samplings of the same could differ as much: in 95 of 100 comparisons no pair of times
// that is the same in truth differs by more (Bonferroni). By the errors of both sides; where those
// are not known, as if samples were independent. What was measured has none.
[[nodiscard]] bool IsNoise(const DiffTime& time, const ComparedTimes& of);

// What is said of a side; texts are safe.
struct DiffSide {
  std::string name;   // as the options call it
  std::string title;  // command line and pid, or the target
  std::uint64_t elapsed_ns = 0;
  std::uint64_t start_unix_ns = 0;
  std::uint64_t threads = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::uint64_t total_ns = 0;  // of all stacks, scaled
};

// Immutable once built. Stacks are equal when the names of their frames are; processes and threads
// have neither ids nor numbers in their names, and Python functions no lines, since these are
// others in every run. Where both profiles are of one process, these are compared whatever they are
// called. The last frame of every stack is its state, but for a path behind it.
struct Diff {
  StackTree tree;                // of both; a parent stands before its children; weights are unused
  std::vector<bool> frame_is_a;  // by node: its `frame` is one of A's (it is not in B), else of B's
  std::vector<DiffTime> self;    // by node: of stacks that end there
  std::vector<DiffTime> total;   // and of all above it
  DiffSide a;
  DiffSide b;
  double scale = 1;  // of the times of A

  // kInvalidArgument when one holds other states than the other (-m); kCorrupt, kExhausted as
  // Exporter::Write.
  [[nodiscard]] static Result<Diff> Build(const v1::Profile& a, const v1::Profile& b,
                                          const DiffOptions& options);
};

// `values` times numerator / denominator in whole ns. Their sum is that of `values`, scaled in the
// same way and rounded down; each is less than 1 ns from its own.
[[nodiscard]] std::vector<std::uint64_t> ScaleToSum(std::vector<std::uint64_t> values,
                                                    std::uint64_t numerator,
                                                    std::uint64_t denominator);

// "working", "spinning", "runnable", "lock": a state, blocked by reason.
struct DiffState {
  std::string name;
  NodeKind kind = NodeKind::kWorking;
  DiffTime time;
};

struct DiffFunction {
  std::string name;
  NodeKind kind = NodeKind::kNative;
  DiffTime total;                 // of stacks that it is in, a recursion counted once
  DiffTime self;                  // of those in which it is the last
  std::vector<DiffState> states;  // of `total`; those without time are left out
};

// Working, spinning, runnable, then blocked, the largest change first.
[[nodiscard]] std::vector<DiffState> DiffStates(const Diff& diff);

// Kernel functions count as part of what called them, where that is known, or are functions like
// any other.
enum class KernelFunctions { kPartOfCaller, kApart };

// By change of `total`, largest first, then by name. Processes, threads and states are no
// functions.
[[nodiscard]] std::vector<DiffFunction> DiffFunctions(const Diff& diff, KernelFunctions kernel);

}  // namespace profd::client
