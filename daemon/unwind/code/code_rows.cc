#include "daemon/unwind/code/code_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "daemon/unwind/code/instruction.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Outcome = FunctionRows::Outcome;
using Piece = FunctionRows::Piece;

// What compilers and hand-written assembly align functions to.
constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kPage = 4'096;
// Code before a range that is read where nothing lists functions.
constexpr std::uint64_t kBeforeUnlisted = 32u << 10;
constexpr std::array<std::uint8_t, 4> kEndbr64{0xf3, 0x0f, 0x1e, 0xfa};

bool IsZero(std::uint8_t byte) { return byte == 0; }

bool BeginsWithEndbr64(Bytes code) {
  return code.size() >= kEndbr64.size() &&
         std::equal(kEndbr64.begin(), kEndbr64.end(), code.begin());
}

// The gaps' bytes, and what is known of functions in them.
class GapCode : public Code {
 public:
  GapCode(const CodeRows::Read& read, const CodeStarts& starts, std::span<const CodeRange> gaps)
      : read_(read), starts_(starts) {
    for (const CodeRange& gap : gaps) {
      auto bytes = read(gap.begin, gap.end - gap.begin);
      if (bytes) gaps_.push_back({{gap.begin, gap.begin + bytes->size()}, *std::move(bytes)});
    }
  }

  [[nodiscard]] Bytes At(std::uint64_t address) const override {
    const Bytes rest = RestAt(address);
    return rest.first(std::min(rest.size(), kMaxInstructionBytes));
  }
  [[nodiscard]] CodeBegin BeginAt(std::uint64_t address) const override {
    return called_.contains(address) ? CodeBegin::kFunction : starts_.BeginAt(address);
  }
  [[nodiscard]] std::vector<std::uint64_t> ReadTable(std::uint64_t address, bool distances,
                                                     std::size_t limit) const override;

  void AddCalled(std::uint64_t address) { called_.insert(address); }
  // Up to the end of its gap.
  [[nodiscard]] Bytes RestAt(std::uint64_t address) const {
    const Gap* gap = GapOf(address);
    if (gap == nullptr) return {};
    return Bytes(reinterpret_cast<const std::uint8_t*>(gap->bytes.data()), gap->bytes.size())
        .subspan(address - gap->range.begin);
  }
  [[nodiscard]] const CodeRange* RangeOf(std::uint64_t address) const {
    const Gap* gap = GapOf(address);
    return gap == nullptr ? nullptr : &gap->range;
  }

 private:
  struct Gap {
    CodeRange range;
    std::string bytes;
  };
  [[nodiscard]] const Gap* GapOf(std::uint64_t address) const {
    auto gap = std::ranges::upper_bound(gaps_, address, {},
                                        [](const Gap& one) { return one.range.begin; });
    if (gap == gaps_.begin()) return nullptr;
    --gap;
    return gap->range.holds(address) ? &*gap : nullptr;
  }

  const CodeRows::Read& read_;
  const CodeStarts& starts_;
  std::vector<Gap> gaps_;
  std::set<std::uint64_t> called_;
};

std::vector<std::uint64_t> GapCode::ReadTable(std::uint64_t address, bool distances,
                                              std::size_t limit) const {
  std::vector<std::uint64_t> targets;
  const std::size_t entry_bytes = distances ? sizeof(std::int32_t) : sizeof(std::uint64_t);
  const auto bytes = read_(address, limit * entry_bytes);
  if (!bytes) return targets;
  const std::size_t count = bytes->size() / entry_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t target = 0;
    std::int32_t distance = 0;
    if (distances) {
      std::memcpy(&distance, bytes->data() + i * entry_bytes, entry_bytes);
      target = address + static_cast<std::uint64_t>(std::int64_t{distance});
    } else {
      std::memcpy(&target, bytes->data() + i * entry_bytes, entry_bytes);
    }
    targets.push_back(target);
  }
  return targets;
}

// Collects the rules of a range, byte by byte.
class RangeRules {
 public:
  explicit RangeRules(const CodeRange& range)
      : range_(range), numbers_(range.end - range.begin, kNone) {}

  // False: somewhere another function has other rules.
  bool Add(const FunctionRows& function) {
    bool agrees = true;
    for (const Piece& piece : function.pieces) {
      const std::uint64_t begin = std::max(piece.range.begin, range_.begin);
      const std::uint64_t end = std::min(piece.range.end, range_.end);
      if (begin >= end) continue;
      const std::uint32_t number = NumberOf(piece.rule);
      for (std::uint64_t at = begin; at < end; ++at) {
        std::uint32_t& known = numbers_[at - range_.begin];
        known = known == kNone || known == number ? number : kDisputed;
        agrees = agrees && known == number;
      }
    }
    return agrees;
  }

  [[nodiscard]] std::vector<Piece> Take() const {
    std::vector<Piece> pieces;
    for (std::uint64_t at = 0; at < numbers_.size();) {
      std::uint64_t end = at + 1;
      while (end < numbers_.size() && numbers_[end] == numbers_[at]) ++end;
      if (numbers_[at] > kDisputed && rules_[numbers_[at] - kFirst].cfa != PROFD_CFA_NONE)
        pieces.push_back({{range_.begin + at, range_.begin + end}, rules_[numbers_[at] - kFirst]});
      at = end;
    }
    return pieces;
  }

 private:
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kDisputed = 1;
  static constexpr std::uint32_t kFirst = 2;

  struct Before {
    bool operator()(const profd_unwind_rule& a, const profd_unwind_rule& b) const {
      return std::memcmp(&a, &b, sizeof a) < 0;
    }
  };

  std::uint32_t NumberOf(const profd_unwind_rule& rule) {
    const auto next = static_cast<std::uint32_t>(rules_.size()) + kFirst;
    const auto [known, is_new] = known_.try_emplace(rule, next);
    if (is_new) rules_.push_back(rule);
    return known->second;
  }

  const CodeRange range_;
  std::vector<std::uint32_t> numbers_;
  std::vector<profd_unwind_rule> rules_;
  std::map<profd_unwind_rule, std::uint32_t, Before> known_;  // their numbers
};

// The functions of a range, one after the other.
class Search {
 public:
  Search(const CodeRange& range, GapCode& code, const CodeStarts& starts, bool is_memory)
      : range_(range), is_memory_(is_memory), code_(code), starts_(starts), rules_(range) {}

  CodeRows::Found Run(std::span<const CodeRange> gaps) {
    for (const CodeRange& gap : gaps)
      if (gap.end > range_.begin && gap.begin < range_.end) AddStartsOf(gap);
    // What is sure comes first: likely starts are not looked for in its functions.
    while ((!sure_.empty() || !likely_.empty()) && budget_ > 0) {
      if (!sure_.empty()) {
        const auto [address, kind] = *sure_.begin();
        sure_.erase(sure_.begin());
        if (Follow(address, kind) == Is::kFunction) begins_.insert(address);
      } else {
        const std::uint64_t address = *likely_.begin();
        likely_.erase(likely_.begin());
        const bool is_function =
            !IsFollowed(address) && Follow(address, StartKind::kLikely) == Is::kFunction;
        if (is_function && IsMarked(address)) begins_.insert(address);
      }
    }
    // The work ended before they were followed.
    for (const auto& [address, kind] : sure_) NoteReason(address, kind, Outcome::kTooLong);
    for (const std::uint64_t address : likely_)
      if (!IsFollowed(address)) NoteReason(address, StartKind::kLikely, Outcome::kTooLong);
    RefusedFunctions refused{};
    for (const auto& [address, reason] : reasons_) ++refused[static_cast<std::size_t>(reason)];
    return {rules_.Take(), refused, Functions()};
  }

 private:
  enum class Is : std::uint8_t { kBeingFollowed, kFunction, kNone };
  static constexpr int kMaxDepth = 32;

  // A likely start may be a block of the function before it, to which a table of jumps leads. If
  // it is not only its place that says it is a function:
  [[nodiscard]] bool IsMarked(std::uint64_t address) const {
    return BeginsWithEndbr64(code_.RestAt(address)) ||
           (address % kAlignment == 0 && !starts_.Referenced(address, address + 1).empty()) ||
           (is_memory_ && BeginsAPage(address));
  }
  // Behind zeros, or with its mapping. A block in a function has code before it.
  [[nodiscard]] bool BeginsAPage(std::uint64_t address) const {
    const CodeRange* gap = code_.RangeOf(address);
    if (address % kPage != 0 || gap == nullptr) return false;
    // Gaps that begin earlier are cut.
    if (address == gap->begin) return range_.begin < gap->begin + CodeRows::kBefore;
    return address - gap->begin >= kAlignment &&
           std::ranges::all_of(code_.RestAt(address - kAlignment).first(kAlignment), IsZero);
  }

  // The code that was followed, from one begin to the next.
  [[nodiscard]] std::vector<CodeRange> Functions() const {
    std::vector<CodeRange> functions;
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
      if (end <= range_.begin || begin >= range_.end) return;
      functions.push_back({begin, end});
    };
    for (auto part = followed_.begin(); part != followed_.end();) {
      std::uint64_t begin = part->first;
      std::uint64_t end = part->second;
      for (++part; part != followed_.end() && part->first <= end; ++part)
        end = std::max(end, part->second);
      auto next = begins_.lower_bound(begin);
      while (next != begins_.end() && *next < end) {
        begin = *next++;
        add(begin, next == begins_.end() ? end : std::min(*next, end));
      }
    }
    return functions;
  }

  void AddStartsOf(const CodeRange& gap) {
    std::uint64_t first = gap.begin;
    if (gap.begin < range_.begin) {
      const auto listed = starts_.LastListed(gap.begin, range_.begin);
      if (listed) {
        first = *listed;
      } else if (range_.begin - gap.begin > kBeforeUnlisted) {
        first = range_.begin - kBeforeUnlisted;
        first_ = first;
        AddLikelyBehind(first);
        // It alone: what lies between would use up the budget.
        if (const auto begin = LastBegin(gap)) likely_.insert(*begin);
      }
    }
    const std::uint64_t end = std::min(gap.end, range_.end);
    first_ = std::min(first_, first);
    if (first == gap.begin) Add(SkipPadding(first), StartKind::kLikely);
    for (const std::uint64_t address : starts_.Referenced(first, end))
      Add(address, StartKind::kLikely);
    for (const std::uint64_t address : starts_.Listed(first, end)) Add(address, StartKind::kListed);
  }

  // The last page before the range that code begins behind zeros, as code made at run time does, or
  // that the gap begins with. It may be the begin of one large function.
  [[nodiscard]] std::optional<std::uint64_t> LastBegin(const CodeRange& gap) const {
    const Bytes code = code_.RestAt(gap.begin);
    std::uint64_t at = range_.begin / kPage * kPage;
    for (; at >= gap.begin + kAlignment; at -= kPage) {
      const std::size_t place = at - gap.begin;
      if (place >= code.size() || code[place] == 0) continue;
      if (std::ranges::all_of(code.subspan(place - kAlignment, kAlignment), IsZero)) return at;
    }
    const bool begins_there = at == gap.begin && range_.begin - at < CodeRows::kBefore;
    return begins_there ? std::optional(at) : std::nullopt;
  }

  void Add(std::uint64_t address, StartKind kind) {
    if (address < first_ || address >= range_.end || code_.At(address).empty()) return;
    if (kind == StartKind::kLikely)
      likely_.insert(address);
    else
      sure_.try_emplace(address, kind);
  }

  // A function that has been followed goes over it.
  [[nodiscard]] bool IsFollowed(std::uint64_t address) const {
    const auto behind = followed_.upper_bound(address);
    return behind != followed_.begin() && address < std::prev(behind)->second;
  }

  // Whether the code from `address` on is a function, as far as is known. Each place once.
  Is Follow(std::uint64_t address, StartKind kind) {
    const auto [known, is_new] = found_.try_emplace(address, Is::kBeingFollowed);
    if (!is_new && (kind == StartKind::kLikely || known->second == Is::kFunction))
      return known->second;
    const FunctionRows function = FollowFunction(code_, address, kind, budget_);
    const bool is_function = function.outcome == Outcome::kFollowed && LeavesToFunctions(function);
    found_[address] = is_function ? Is::kFunction : Is::kNone;
    if (is_function) {
      reasons_.erase(address);
      const bool agrees = Take(function);
      if (function.unfollowed > 0) NoteReason(address, kind, Outcome::kUnknownJump);
      if (!agrees) NoteReason(address, kind, Outcome::kDisputed);
    } else {
      NoteReason(address, kind, function.outcome);
      AddLikelyBehind(address + 1);
    }
    return found_[address];
  }

  // Why the function at `address` has no rules, or not everywhere, if it is certain that there is
  // one.
  void NoteReason(std::uint64_t address, StartKind kind, Outcome reason) {
    if (range_.holds(address) && (kind != StartKind::kLikely || IsMarked(address)))
      reasons_[address] = reason;
  }

  // A place within a function leaves to other ones of it, and not all of these pass as functions.
  bool LeavesToFunctions(const FunctionRows& function) {
    bool returns = function.returns > 0;
    if (!function.jumps.empty() && depth_ == kMaxDepth) return false;
    ++depth_;
    bool all = true;
    for (const std::uint64_t target : function.jumps) {
      const Is found = Follow(target, StartKind::kLikely);
      all = all && found != Is::kNone;
      returns = returns || found == Is::kFunction;
    }
    --depth_;
    return all && (returns || function.jumps.empty());
  }

  // False: somewhere another function has other rules.
  bool Take(const FunctionRows& function) {
    const bool agrees = rules_.Add(function);
    for (const std::uint64_t called : function.calls) {
      if (code_.At(called).empty() || code_.BeginAt(called) == CodeBegin::kFunction) continue;
      code_.AddCalled(called);
      Add(called, StartKind::kInternal);
    }
    for (const CodeRange& part : function.parts) {
      followed_[part.begin] = std::max(followed_[part.begin], part.end);
      Add(SkipPadding(part.end), StartKind::kLikely);
    }
    return agrees;
  }

  // The next place that looks like the begin of a function.
  void AddLikelyBehind(std::uint64_t address) {
    const CodeRange* gap = code_.RangeOf(address);
    if (gap == nullptr) return;
    const Bytes rest = code_.RestAt(gap->begin);
    const std::uint64_t first = (address + kAlignment - 1) / kAlignment * kAlignment;
    for (std::uint64_t at = first; at < std::min(gap->end, range_.end); at += kAlignment) {
      const Bytes here = rest.subspan(at - gap->begin);
      const std::uint8_t before = at > gap->begin ? rest[at - gap->begin - 1] : 0;
      // The last byte of a return, of int3, and of paddings.
      const bool ended = before == 0xc3 || before == 0xcc || before == 0x90 || before == 0x00;
      if (ended || BeginsWithEndbr64(here)) return Add(SkipPadding(at), StartKind::kLikely);
    }
  }

  [[nodiscard]] std::uint64_t SkipPadding(std::uint64_t address) const {
    return address + PaddingBytes(code_.RestAt(address), address);
  }

  const CodeRange range_;
  const bool is_memory_;
  std::uint64_t first_ =
      range_.begin;  // functions that begin before it do not reach into the range
  int depth_ = 0;    // of LeavesToFunctions
  GapCode& code_;
  const CodeStarts& starts_;
  RangeRules rules_;
  std::map<std::uint64_t, StartKind> sure_;  // to be followed
  std::set<std::uint64_t> likely_;
  std::map<std::uint64_t, Is> found_;
  std::map<std::uint64_t, std::uint64_t> followed_;  // begin -> end
  std::set<std::uint64_t> begins_;                   // of functions
  std::map<std::uint64_t, Outcome> reasons_;         // by begin of the function
  std::uint64_t budget_ = CodeRows::kMaxDecoded;
};

}  // namespace

CodeRows::Found CodeRows::Find(const CodeRange& range, std::span<const CodeRange> gaps) const {
  GapCode code(read_, starts_, gaps);
  return Search(range, code, starts_, is_memory_).Run(gaps);
}

std::uint64_t PaddingBytes(Bytes code, std::uint64_t address) {
  std::uint64_t bytes = 0;
  while (bytes < code.size()) {
    const Bytes rest = code.subspan(bytes);
    const bool filler = rest[0] == 0xcc || rest[0] == 0;
    const auto instruction =
        filler ? std::nullopt
               : Decode(rest.first(std::min(rest.size(), kMaxInstructionBytes)), address + bytes);
    if (!filler && (!instruction || instruction->action != Action::kNothing)) break;
    bytes += filler ? 1 : instruction->bytes;
  }
  return bytes;
}

}  // namespace profd::unwind
