#include "daemon/unwind/code/function_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "daemon/unwind/code/frame_state.h"
#include "daemon/unwind/code/instruction.h"

namespace profd::unwind {
namespace {

using Outcome = FunctionRows::Outcome;

constexpr std::size_t kMaxTableEntries = 1'024;

// Work of FollowFunction. Straight pieces of code begin where control can come from elsewhere; each
// keeps what holds at its begin on all paths found so far.
class Flow {
 public:
  Flow(const Code& code, std::uint64_t begin, StartKind kind, std::uint64_t& budget)
      : code_(code), begin_(begin), kind_(kind), budget_(budget) {
    heads_.emplace(begin, Head{FrameState(), false});
    todo_.insert(begin);
  }

  FunctionRows Run() {
    while (!todo_.empty() && result_.outcome == Outcome::kFollowed) {
      const std::uint64_t next = *todo_.begin();
      todo_.erase(todo_.begin());
      Walk(next, /*keep=*/false);
    }
    if (result_.outcome == Outcome::kFollowed && kind_ == StartKind::kLikely &&
        result_.returns == 0 && result_.jumps.empty())
      Fail(result_.unfollowed > 0 ? Outcome::kUnknownJump : Outcome::kNoReturn);
    if (result_.outcome == Outcome::kFollowed) KeepRules();
    if (result_.outcome != Outcome::kFollowed) result_.pieces.clear();
    return std::move(result_);
  }

 private:
  struct Head {
    FrameState state;
    bool after_call = false;  // reached only by falling out of a call, which may never return
  };

  void Fail(Outcome outcome) {
    if (result_.outcome == Outcome::kFollowed) result_.outcome = outcome;
  }

  std::optional<Instruction> Next(std::uint64_t address) {
    const auto bytes = code_.At(address);
    if (bytes.empty()) return std::nullopt;
    if (budget_ == 0) {
      Fail(Outcome::kTooLong);
      return std::nullopt;
    }
    --budget_;
    auto instruction = Decode(bytes, address);
    if (!instruction) Fail(Outcome::kNoInstruction);
    return instruction;
  }

  // From a head to the next one, or to where control does not go on.
  void Walk(std::uint64_t head, bool keep) {
    FrameState state = heads_.at(head).state;
    bool after_call = heads_.at(head).after_call;
    std::uint64_t address = head;
    while (true) {
      const auto instruction = Next(address);
      if (!instruction) {
        // Behind a call that does not return there may be anything.
        if (!after_call) Fail(Outcome::kRunsOut);
        break;
      }
      if (keep)
        result_.pieces.push_back({{address, address + instruction->bytes}, state.Rule(lost_)});
      const bool goes_on = Step(*instruction, address, state, keep);
      address += instruction->bytes;
      if (!goes_on || result_.outcome != Outcome::kFollowed) break;
      after_call = instruction->action == Action::kCall ||
                   (after_call && instruction->action == Action::kNothing);
      if (heads_.contains(address)) {
        if (!keep) Reach(address, state, after_call);
        break;
      }
      const CodeBegin begin = code_.BeginAt(address);
      if (begin == CodeBegin::kFunction || (begin == CodeBegin::kPart && after_call)) {
        if (!keep && !after_call) Return(state);
        break;
      }
    }
    ends_[head] = address;
    // It jumped back into itself.
    const auto inside = heads_.upper_bound(head);
    if (!keep && inside != heads_.end() && inside->first < address) todo_.insert(head);
  }

  // Carries out one instruction. False: control does not go on behind it.
  bool Step(const Instruction& instruction, std::uint64_t address, FrameState& state, bool keep) {
    switch (instruction.action) {
      case Action::kReturn:
        if (!keep) Return(state);
        return false;
      case Action::kStop:
        return false;
      case Action::kJump:
        if (keep) return false;
        if (instruction.target)
          JumpAway(*instruction.target, state);
        else
          JumpByTable(instruction, state);
        return false;
      case Action::kBranch:
        if (!keep && instruction.target) Jump(*instruction.target, state);
        state.Apply(instruction, address);
        return true;
      case Action::kCall:
        if (!keep && instruction.target) result_.calls.push_back(*instruction.target);
        state.Apply(instruction, address);
        return true;
      default:
        state.Apply(instruction, address);
        return true;
    }
  }

  void Return(const FrameState& state) {
    if (!state.balanced()) return Fail(Outcome::kUnbalanced);
    lost_ |= state.changed();
    if (lost_ != 0 && kind_ != StartKind::kInternal) return Fail(Outcome::kChanged);
    ++result_.returns;
  }

  [[nodiscard]] bool IsElsewhere(std::uint64_t target) const {
    return code_.At(target).empty() || code_.BeginAt(target) == CodeBegin::kFunction;
  }

  void Jump(std::uint64_t target, const FrameState& state) {
    const bool elsewhere = IsElsewhere(target);
    if (elsewhere && target != begin_)
      return Return(state);  // what it calls so returns to its caller
    if (target == begin_ && state.balanced() && state.changed() == 0) return;
    Reach(target, state, /*after_call=*/false);
  }

  // Where nothing lists functions, a jump with all as it was at the begin may lead to another one.
  // The code there has the same rules either way.
  void JumpAway(std::uint64_t target, const FrameState& state) {
    const bool as_entered = state.balanced() && state.changed() == 0;
    if (kind_ == StartKind::kListed || !as_entered || heads_.contains(target) ||
        IsElsewhere(target))
      return Jump(target, state);
    result_.jumps.push_back(target);
  }

  void JumpByTable(const Instruction& instruction, const FrameState& state) {
    const auto table = state.TableOf(instruction.from);
    std::size_t followed = 0;
    if (table) {
      const std::size_t limit =
          std::min<std::uint64_t>(table->entries.value_or(kMaxTableEntries), kMaxTableEntries);
      for (const std::uint64_t target : code_.ReadTable(table->address, table->distances, limit)) {
        if (IsElsewhere(target)) break;
        Reach(target, state, false);
        ++followed;
      }
    }
    if (followed > 0) return;
    const bool as_entered = state.balanced() && state.changed() == 0;
    // A stub leaves to where the dynamic linker's table says; elsewhere it may be a jump of its
    // own.
    const bool by_table = instruction.from.is_memory() && instruction.from.base == kNoRegister;
    if (as_entered && by_table) ++result_.returns;
    if (!as_entered) ++result_.unfollowed;
  }

  void Reach(std::uint64_t address, const FrameState& state, bool after_call) {
    const auto [head, is_new] = heads_.try_emplace(address, Head{state, after_call});
    if (is_new) {
      todo_.insert(address);
      SplitAt(address);
      return;
    }
    Head& known = head->second;
    if (known.state.depth() != state.depth() && known.after_call != after_call) {
      // One of the two comes out of a call: it does not return.
      if (after_call) return;
      known = {state, false};
      todo_.insert(address);
      return;
    }
    known.after_call = known.after_call && after_call;
    if (known.state.Merge(state, address)) todo_.insert(address);
  }

  // What has been walked over this address is walked again: it ends there now.
  void SplitAt(std::uint64_t address) {
    auto piece = ends_.lower_bound(address);
    if (piece == ends_.begin()) return;
    --piece;
    if (piece->second <= address) return;
    piece->second = 0;
    todo_.insert(piece->first);
  }

  void KeepRules() {
    for (const auto& [head, state] : heads_) Walk(head, /*keep=*/true);
    std::ranges::sort(result_.pieces, {}, [](const auto& piece) { return piece.range.begin; });
    for (const auto& piece : result_.pieces) {
      if (result_.parts.empty() || piece.range.begin > result_.parts.back().end)
        result_.parts.push_back(piece.range);
      else
        result_.parts.back().end = std::max(result_.parts.back().end, piece.range.end);
    }
  }

  const Code& code_;
  const std::uint64_t begin_;
  const StartKind kind_;
  std::uint64_t& budget_;
  std::map<std::uint64_t, Head> heads_;
  std::map<std::uint64_t, std::uint64_t> ends_;  // of what was walked from a head
  std::set<std::uint64_t> todo_;
  std::uint16_t lost_ = 0;
  FunctionRows result_;
};

}  // namespace

std::string_view ReasonOf(FunctionRows::Outcome outcome) {
  switch (outcome) {
    case Outcome::kFollowed:
      return "a jump of it leads to what is no function";
    case Outcome::kNoInstruction:
      return "it has bytes that are no instruction";
    case Outcome::kUnbalanced:
      return "a way out of it leaves the stack pointer elsewhere";
    case Outcome::kChanged:
      return "a return does not restore a register";
    case Outcome::kRunsOut:
      return "it runs into code that is not its own";
    case Outcome::kNoReturn:
      return "it does not return";
    case Outcome::kTooLong:
      return "it is too long, or what is followed before it";
    case Outcome::kUnknownJump:
      return "a jump leads to an address that is not known: behind it there are no rules";
    case Outcome::kDisputed:
      return "another function reaches into it with other rules: there are none there";
  }
  return "";
}

FunctionRows FollowFunction(const Code& code, std::uint64_t begin, StartKind kind,
                            std::uint64_t& budget) {
  return Flow(code, begin, kind, budget).Run();
}

}  // namespace profd::unwind
