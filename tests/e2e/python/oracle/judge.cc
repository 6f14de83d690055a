#include "tests/e2e/python/oracle/judge.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "bpf/shared/events.h"

namespace profd::oracle {
namespace {

constexpr std::string_view kMark = "oracle_";
constexpr int kFirstWithoutLines = 10;
constexpr int kFirstWithLinesOfExpressions = 11;

bool IsGap(const v1::Frame& frame) {
  return frame.name() == "<stale>" || frame.name() == "<unknown>";
}

// The function's own name.
std::string ShortName(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

template <typename Rules>
auto FindRule(const Rules& rules, const std::string& name) {
  return rules.find(ShortName(name));
}

// A stack, root first: frames of Python, and among them the marks of C.
struct Stack {
  struct Item {
    const v1::Frame* python = nullptr;  // null: a mark
    std::string mark;
    std::string natives;  // names of native frames since the Python frame before, "name|name"
  };
  std::vector<Item> items;
  bool not_merged = false;
  bool cut = false;        // towards the root
  std::size_t beyond = 0;  // so many items stand where no native frames are
  std::string text;
};

Stack StackOf(const v1::Profile& profile, std::uint32_t node) {
  std::vector<const v1::Frame*> frames;
  for (std::uint32_t at = node; at != 0; at = profile.nodes(static_cast<int>(at) - 1).parent())
    frames.push_back(
        &profile.frames(static_cast<int>(profile.nodes(static_cast<int>(at) - 1).frame())));
  std::ranges::reverse(frames);
  Stack stack;
  std::string natives;
  bool any_native = false;
  for (const v1::Frame* frame : frames) {
    const std::string name = frame->name().substr(0, frame->name().find('@'));
    if (frame->kind() == v1::FRAME_PYTHON) {
      stack.items.push_back({frame, "", natives});
      natives.clear();
      stack.text +=
          "\n  " + name + " (" + frame->file() + ":" + std::to_string(frame->line()) + ")";
      continue;
    }
    stack.text += "\n    [" + name + "]";
    if (frame->kind() == v1::FRAME_PSEUDO) {
      if (name == "[merge=failed]")
        stack.not_merged = true;
      else
        stack.cut = true;
    } else if (name.starts_with(kMark)) {
      stack.items.push_back({nullptr, name, natives});
    }
    if (frame->kind() == v1::FRAME_NATIVE) {
      if (!any_native) stack.beyond = stack.items.size();
      any_native = true;
      // A name that is made of the function's place is none.
      natives += (frame->reason().empty() ? name : "") + "|";
    }
  }
  return stack;
}

// One stack of one window.
class Comparison {
 public:
  Comparison(const Window& window, Stack stack, std::uint64_t time_ns)
      : window_(window), stack_(std::move(stack)), time_ns_(time_ns) {}

  // Empty: it is true.
  [[nodiscard]] std::string Judge();
  [[nodiscard]] bool has_gaps() const { return has_gaps_; }

 private:
  struct Expected {
    const Frame* frame = nullptr;
    std::uint32_t first_line = 0;  // these lines are right
    std::uint32_t last_line = 0;
    bool is_leaf = false;  // which may be at an instruction without line
  };
  using Expectation = std::vector<Expected>;

  void Append(const Chain& chain, Expectation& to) const {
    for (const std::size_t index : chain) {
      const Frame& frame = window_.frames.at(index);
      to.push_back({&frame, frame.line, frame.line});
    }
  }
  [[nodiscard]] bool Matches(Expectation expected);
  [[nodiscard]] bool FrameMatches(const v1::Frame& seen, const Expected& expected);
  // Whether the marks from `first` on may: what the leaf calls, or what is about to call Python.
  [[nodiscard]] bool MayStandAbove(const std::string& leaf, std::size_t first) const;
  [[nodiscard]] bool BeginWith(const std::vector<std::string>& marks, std::size_t first) const;
  // Since 3.11 the generator's own first instruction makes it, of which no trace function hears.
  [[nodiscard]] bool IsGeneratorMade() const;
  [[nodiscard]] std::string JudgeThrough() const;
  [[nodiscard]] std::string JudgeChurn();

  const Window& window_;
  Stack stack_;
  const std::uint64_t time_ns_;
  bool has_gaps_ = false;
};

bool Comparison::FrameMatches(const v1::Frame& seen, const Expected& expected) {
  if (IsGap(seen)) {
    has_gaps_ = true;
    return true;
  }
  if (seen.name() != expected.frame->name || seen.file() != expected.frame->file) return false;
  return window_.loose ||
         (seen.line() >= expected.first_line && seen.line() <= expected.last_line) ||
         (expected.is_leaf && seen.line() == expected.frame->function_line);
}

// From the leaf, so that what is cut towards the root need not be there.
bool Comparison::Matches(Expectation expected) {
  if (expected.empty()) return false;
  Expected& leaf = expected.back();
  leaf.is_leaf = window_.minor >= kFirstWithoutLines;
  if (window_.minor >= kFirstWithLinesOfExpressions && leaf.first_line == leaf.last_line) {
    leaf.first_line = std::min(leaf.frame->first_line, leaf.first_line);
    leaf.last_line = std::max(leaf.frame->last_line, leaf.last_line);
  }
  std::vector<std::pair<const Expected*, std::string>> wanted;
  for (const Expected& one : expected) {
    if (const auto marks = FindRule(window_.before, one.frame->name); marks != window_.before.end())
      for (const std::string& mark : marks->second) wanted.emplace_back(nullptr, mark);
    wanted.emplace_back(&one, "");
  }
  // Marks above the leaf: as many as there are by now.
  std::size_t seen = stack_.items.size();
  std::size_t above = 0;
  while (seen > 0 && stack_.items[seen - 1].python == nullptr) --seen, ++above;
  if (above > 0 && !MayStandAbove(leaf.frame->name, seen)) return false;
  std::size_t left = wanted.size();
  while (seen > 0) {
    const Stack::Item& item = stack_.items[seen - 1];
    if (item.python != nullptr && item.python->name() == "<truncated>") return left > 0;
    if (left == 0) return false;
    const auto& [frame, mark] = wanted[--left];
    // Where the native stack ends early its marks are not there.
    if (frame == nullptr && item.python != nullptr && stack_.cut && seen <= stack_.beyond) continue;
    if ((item.python != nullptr) != (frame != nullptr)) return false;
    if (frame == nullptr ? item.mark != mark : !FrameMatches(*item.python, *frame)) return false;
    --seen;
  }
  while (left > 0 && wanted[left - 1].first == nullptr && stack_.cut) --left;
  return left == 0;
}

bool Comparison::BeginWith(const std::vector<std::string>& marks, std::size_t first) const {
  std::vector<std::string> seen;
  for (std::size_t i = first; i < stack_.items.size(); ++i) seen.push_back(stack_.items[i].mark);
  // Where the native stack ends among them, the first ones are not there.
  const bool ends_here = stack_.cut && first <= stack_.beyond;
  const auto found = std::ranges::search(marks, seen);
  return !found.empty() && (ends_here || found.begin() == marks.begin());
}

bool Comparison::MayStandAbove(const std::string& leaf, std::size_t first) const {
  if (const auto after = FindRule(window_.after, leaf);
      after != window_.after.end() && BeginWith(after->second, first))
    return true;
  for (const Chain& chain : window_.chains)
    for (std::size_t i = 1; i < chain.size(); ++i) {
      if (window_.frames.at(chain[i - 1]).name != leaf) continue;
      const auto before = FindRule(window_.before, window_.frames.at(chain[i]).name);
      if (before != window_.before.end() && BeginWith(before->second, first)) return true;
    }
  return false;
}

bool Comparison::IsGeneratorMade() const {
  const v1::Frame* leaf = stack_.items.back().python;
  return leaf != nullptr && window_.minor >= kFirstWithLinesOfExpressions &&
         std::ranges::any_of(window_.frames, [&](const Frame& frame) {
           return frame.name == leaf->name() && frame.file == leaf->file() &&
                  frame.function_line == leaf->line();
         });
}

std::string Comparison::JudgeThrough() const {
  // Of what C calls there the end of a cut stack has a part at most.
  const std::size_t first = stack_.cut ? stack_.beyond + 1 : 0;
  for (std::size_t i = first; i < stack_.items.size(); ++i) {
    const Stack::Item& item = stack_.items[i];
    if (item.python == nullptr) continue;
    const auto pattern = FindRule(window_.through, item.python->name());
    // A stripped interpreter has few names.
    const bool named =
        !item.natives.starts_with("|") && item.natives.find("||") == std::string::npos;
    if (pattern != window_.through.end() && named &&
        !std::regex_search(item.natives, std::regex(pattern->second)))
      return "no " + pattern->second + " before " + item.python->name() + stack_.text;
  }
  return "";
}

// The function that ran at that time; around it what makes it.
std::string Comparison::JudgeChurn() {
  for (const Stack::Item& item : stack_.items) {
    if (item.python == nullptr) continue;
    if (IsGap(*item.python)) has_gaps_ = true;
    if (!item.python->name().starts_with("churn")) continue;
    const auto one = std::ranges::find_if(window_.churn, [&](const Window::Short& entry) {
      return entry.name == item.python->name();
    });
    if (one == window_.churn.end()) return "no such function" + stack_.text;
    if (time_ns_ < one->begin_ns || time_ns_ > one->end_ns)
      return "another function ran then" + stack_.text;
  }
  return "";
}

std::string Comparison::Judge() {
  if (window_.native_only) {
    for (const Stack::Item& item : stack_.items)
      if (item.python != nullptr) return "Python frames on a thread of C" + stack_.text;
    return "";
  }
  if (std::ranges::none_of(stack_.items, [](const auto& item) { return item.python != nullptr; }))
    return "no Python frames" + stack_.text;
  if (!window_.churn.empty()) return JudgeChurn();
  Expectation prefix;
  Append(window_.prefix, prefix);
  std::vector<Expectation> all;
  Frame repeat{"repeat", window_.frames.at(window_.prefix.back()).file, 0, 0, 0, 0};
  if (window_.hold) {
    all.push_back(prefix);
  } else {
    Expectation alone = prefix;
    alone.push_back({&repeat, 0, ~0u});
    all.push_back(alone);
    prefix.push_back({&repeat, window_.call_line, window_.call_line});
    for (const Chain& chain : window_.chains) Append(chain, all.emplace_back(prefix));
    if (window_.alone)
      for (const Chain& chain : window_.chains) Append(chain, all.emplace_back());
  }
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i)
    for (const Chain& chain : window_.interrupts) {
      Expectation interrupted = all[i];
      // At any line of its statement.
      Expected& below = interrupted.back();
      below.first_line = std::min(below.first_line, below.frame->first_line);
      below.last_line = std::max(below.last_line, below.frame->last_line);
      Append(chain, interrupted);
      all.push_back(std::move(interrupted));
    }
  const auto matches = [&](const Expectation& one) {
    has_gaps_ = false;
    return Matches(one);
  };
  if (std::ranges::any_of(all, matches)) return JudgeThrough();
  if (IsGeneratorMade()) {
    stack_.items.pop_back();
    if (std::ranges::any_of(all, matches)) return JudgeThrough();
  }
  return "not a stack that there was" + stack_.text;
}

std::string GilOf(const v1::Samples& samples, int sample) {
  return v1::Gil_Name(samples.gil_size() == 0 ? v1::GIL_NONE : samples.gil(sample));
}

bool HasFrameOf(const v1::Profile& profile, std::uint32_t node, const std::string& file) {
  for (; node != 0; node = profile.nodes(static_cast<int>(node) - 1).parent()) {
    const auto frame = profile.nodes(static_cast<int>(node) - 1).frame();
    if (profile.frames(static_cast<int>(frame)).file().ends_with(file)) return true;
  }
  return false;
}

// Of the process's samples since then, or of those of the known thread, the first one by whose
// time the interpreter was understood.
std::uint64_t UnderstoodNs(const v1::Profile& profile, const Window& window) {
  // Ids of another namespace are no ids here.
  if (!window.comm.empty()) return 0;
  std::uint64_t first = ~std::uint64_t{0};
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.gil_size(); ++i) {
    if (samples.gil(i) == v1::GIL_NONE || samples.gil(i) == v1::GIL_UNKNOWN) continue;
    const auto& thread = profile.threads(static_cast<int>(samples.thread(i)));
    const auto& process = profile.processes(static_cast<int>(thread.process()));
    const bool is_known =
        window.known_by != 0 ? thread.tid() == window.known_by &&
                                   HasFrameOf(profile, samples.node(i), window.known_in)
                             : process.pid() == window.pid && samples.time_ns(i) >= window.begin_ns;
    if (is_known) first = std::min(first, samples.time_ns(i));
  }
  return first;
}

bool InWindow(const v1::Profile& profile, const Window& window, const v1::Thread& thread) {
  if (!window.comm.empty()) return thread.comm() == window.comm;
  return thread.tid() == window.tid &&
         profile.processes(static_cast<int>(thread.process())).pid() == window.pid;
}

void JudgeWait(const v1::Profile& profile, int sample, const Window& window, const Stack& stack,
               Verdict& verdict) {
  if (profile.samples().state(sample) != v1::STATE_BLOCKED) return;
  const std::string wait = v1::WaitReason_Name(profile.samples().wait(sample)).substr(5);
  ++verdict.waits[wait];
  for (auto item = stack.items.rbegin(); item != stack.items.rend(); ++item) {
    if (item->python == nullptr) continue;
    auto rule = FindRule(window.waits, item->python->name());
    if (rule == window.waits.end()) rule = window.waits.find("*");
    // A page that comes from a file is a wait as well, wherever it is touched.
    if (rule != window.waits.end() && wait != "FAULT" && wait != "IO" &&
        std::ranges::find(rule->second, wait) == rule->second.end())
      ++verdict.wrong["waits for " + wait + stack.text];
    return;
  }
}

}  // namespace

std::uint64_t Verdict::WrongSamples() const {
  std::uint64_t sum = 0;
  for (const auto& [what, count] : wrong) sum += count;
  return sum;
}

void Verdict::Add(const Verdict& other) {
  samples += other.samples;
  without_stack += other.without_stack;
  not_merged += other.not_merged;
  apart += other.apart;
  early += other.early;
  cut += other.cut;
  gaps += other.gaps;
  if (!other.last_not_merged.empty()) last_not_merged = other.last_not_merged;
  for (const auto& [what, count] : other.wrong) wrong[what] += count;
  for (const auto& [what, count] : other.waits) waits[what] += count;
}

Verdict Judge(const v1::Profile& profile, const Window& window) {
  Verdict verdict;
  std::set<std::uint32_t> threads;
  for (int i = 0; i < profile.threads_size(); ++i)
    if (InWindow(profile, window, profile.threads(i)))
      threads.insert(static_cast<std::uint32_t>(i));
  const auto& samples = profile.samples();
  const std::uint64_t understood_ns = UnderstoodNs(profile, window);
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    const std::uint64_t time_ns = samples.time_ns(i);
    if (!threads.contains(samples.thread(i)) || time_ns <= window.begin_ns ||
        time_ns >= window.end_ns || samples.count(i) == 0)
      continue;
    ++verdict.samples;
    if (samples.stack_flags(i) & (PROFD_STACK_NO_USER | PROFD_STACK_KERNEL_FAILED) ||
        samples.node(i) == 0) {
      ++verdict.without_stack;
      continue;
    }
    const Stack stack = StackOf(profile, samples.node(i));
    if (stack.not_merged) {
      ++verdict.not_merged;
      if (window.apart || stack.cut) ++verdict.apart;
      verdict.last_not_merged = stack.text;
      continue;
    }
    if (stack.cut) ++verdict.cut;
    const bool none =
        std::ranges::none_of(stack.items, [](const auto& item) { return item.python != nullptr; });
    if ((none || window.known_by != 0) && !window.native_only && time_ns < understood_ns) {
      ++verdict.early;
      continue;
    }
    Comparison comparison(window, stack, time_ns);
    const std::string fault = comparison.Judge();
    if (!fault.empty()) ++verdict.wrong[GilOf(samples, i) + ": " + fault];
    if (comparison.has_gaps()) {
      ++verdict.gaps;
      if (!window.gaps) ++verdict.wrong["no names" + stack.text];
    }
    JudgeWait(profile, i, window, stack, verdict);
  }
  return verdict;
}

Verdict JudgeNatives(const v1::Profile& profile, const std::string& comm) {
  Verdict verdict;
  for (int i = 0; i < profile.threads_size(); ++i) {
    const v1::Thread& thread = profile.threads(i);
    if (thread.comm() != comm) continue;
    Window window;
    window.tid = thread.tid();
    window.pid = profile.processes(static_cast<int>(thread.process())).pid();
    window.end_ns = ~std::uint64_t{0};
    window.native_only = true;
    verdict.Add(Judge(profile, window));
  }
  return verdict;
}

}  // namespace profd::oracle
