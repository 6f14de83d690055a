// Operators: what frameworks ran in the samples of a profile, and in which phase, by the rules that
// were applied when profd sent it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Job: judges each stack of a profile once. Of the operators of a stack the one with the best rank
// counts, then the innermost; of its phases the outermost, and forward only if there is no other.
// Immutable; any thread. For which operator a worker of a parallel region works is inferred:
// RegionWorkers.
class Operators {
 public:
  // The profile must have passed CheckProfile and outlive this.
  explicit Operators(const v1::Profile& profile);

  // No frame has an operator or a phase: no rule fits, or the file is of an older profd.
  [[nodiscard]] bool empty() const { return !any_; }
  // Of all operators, each once; safe to print.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // It only says that a thread works for a parallel region: "(parallel worker)".
  [[nodiscard]] bool IsWorker(std::uint32_t name) const { return rank_[name] == kWorkerRank; }
  // It says which operator runs; else only that one may run.
  [[nodiscard]] bool IsNamed(std::uint32_t name) const { return rank_[name] < kWorkerRank; }

  // Index into names(); none: no operator.
  [[nodiscard]] std::optional<std::uint32_t> OperatorOf(int sample) const {
    return OperatorAt(profile_.samples().node(sample));
  }
  [[nodiscard]] v1::Phase PhaseOf(int sample) const {
    return PhaseAt(profile_.samples().node(sample));
  }
  // The same of the stack whose leaf is `node`, as Samples.node.
  [[nodiscard]] std::optional<std::uint32_t> OperatorAt(std::uint32_t node) const;
  [[nodiscard]] v1::Phase PhaseAt(std::uint32_t node) const { return stacks_[node].phase; }
  // The thread of that stack leads a parallel region.
  [[nodiscard]] bool IsInRegion(std::uint32_t node) const { return stacks_[node].region; }
  // That thread belongs to a pool which works for parallel regions.
  [[nodiscard]] bool IsInPool(std::uint32_t node) const { return stacks_[node].pool; }
  // Of the frame of `node` by itself; none for node 0.
  [[nodiscard]] std::optional<std::uint32_t> OperatorOfFrame(std::uint32_t node) const;

 private:
  // Ranks of rules.toml that name no operator.
  static constexpr std::uint32_t kWorkerRank = 5;
  static constexpr std::uint32_t kRegionRank = 6;
  static constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();
  struct Stack {
    std::uint32_t op = 0;   // as Frame.op
    std::uint32_t own = 0;  // of the innermost frame
    bool region = false;
    bool pool = false;
    v1::Phase phase = v1::PHASE_NONE;
  };

  void NameOperators();
  void JudgeStacks();

  const v1::Profile& profile_;
  bool any_ = false;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> rank_;     // by name, the best one
  std::vector<std::uint32_t> name_of_;  // by index into Profile.operators
  std::vector<Stack> stacks_;           // by node
};

// "backward"; "" for none, "other" for what a newer profd may know.
[[nodiscard]] std::string_view PhaseName(v1::Phase phase);

// Time by state, and the sampling points that it rests on.
struct OperatorTime {
  std::uint64_t working_ns = 0;
  std::uint64_t spinning_ns = 0;
  std::uint64_t runnable_ns = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t samples = 0;
};

struct OperatorRow {
  std::optional<std::uint32_t> op;  // index into Operators.names(); none: all that has no operator
  OperatorTime self;                // that this operator has as the one that counts
  std::uint64_t total_working_ns = 0;  // also below it, however often it stands in a stack
  std::uint64_t workers_ns = 0;        // work of others for it, inferred; it is in their rows, too
};

struct PhaseRow {
  v1::Phase phase = v1::PHASE_NONE;
  OperatorTime time;
};

// All time of a profile by operator, and by phase. Both lists add up to it.
struct OperatorTable {
  std::vector<OperatorRow> rows;  // most work first
  std::vector<PhaseRow> phases;   // most work first
  std::uint64_t working_ns = 0;
  std::uint64_t named_ns = 0;     // of it, with an operator
  std::uint64_t inferred_ns = 0;  // and of workers for one
  // Of work, with a user part; and of these, those that do not reach their root.
  std::uint64_t stacks = 0;
  std::uint64_t incomplete_stacks = 0;
};

[[nodiscard]] OperatorTable TableOf(const v1::Profile& profile, const Operators& operators);

// "operators named for 61 % of working time, with workers ~91 %; 2 % of stacks incomplete", or "no
// operators in this file".
[[nodiscard]] std::string CoverageText(const OperatorTable& table, const Operators& operators);

}  // namespace profd::client
