#include "client/screens/dump/dump_view.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/screens/dump/dump_facts.h"
#include "client/text/number.h"
#include "client/text/text.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::size_t kLongestName = 24;  // columns of a thread's name that others are aligned to
constexpr std::string_view kIndent = "    ";

// Threads with equal stacks, in equal states: their lines stand above one stack.
using Group = std::vector<const v1::DumpThread*>;

bool SameStack(const v1::DumpThread& a, const v1::DumpThread& b) {
  return a.state() == b.state() && a.wait() == b.wait() && a.no_stack() == b.no_stack() &&
         IsByFramePointer(a) == IsByFramePointer(b) && a.uncertain_from() == b.uncertain_from() &&
         std::ranges::equal(a.frame(), b.frame());
}

std::vector<Group> GroupThreads(const std::vector<const v1::DumpThread*>& threads) {
  std::vector<Group> groups;
  for (const v1::DumpThread* thread : threads) {
    const auto same = std::ranges::find_if(
        groups, [&](const Group& group) { return SameStack(*group.front(), *thread); });
    if (same != groups.end())
      same->push_back(thread);
    else
      groups.push_back({thread});
  }
  return groups;
}

class Renderer {
 public:
  Renderer(const v1::Dump& dump, const DumpOptions& options) : dump_(dump), options_(options) {}

  std::string Run() {
    AddDeadlocks();
    for (int i = 0; i < dump_.processes_size(); ++i) AddProcess(static_cast<std::uint32_t>(i));
    if (dump_.threads_left_out() > 0)
      AddLine(options_.palette.Paint(
          Tone::kWarning, FormatCount(dump_.threads_left_out()) + " more threads are left out"));
    return std::move(text_);
  }

 private:
  void AddLine(std::string_view line) { text_.append(line).push_back('\n'); }
  [[nodiscard]] std::string Cut(std::string_view text) const {
    return options_.width == 0 ? std::string(text) : CutMiddle(text, options_.width);
  }

  void AddProcess(std::uint32_t index) {
    const ProcessFacts facts = FactsOf(dump_, index);
    const v1::Process& process = dump_.processes(static_cast<int>(index));
    if (!text_.empty()) text_.push_back('\n');
    const std::string& command =
        process.command_line().empty() ? process.comm() : process.command_line();
    const std::string title = " (" + std::to_string(process.pid()) + ")";
    const std::string name = SafeText(command);
    const std::size_t room = options_.width > title.size() ? options_.width - title.size() : 0;
    AddLine(
        options_.palette.Paint(Tone::kStrong, (room == 0 ? name : CutMiddle(name, room)) + title));
    std::string line;
    if (!process.python().empty()) line = "CPython " + SafeText(process.python()) + ", ";
    line += FormatCount(facts.threads.size(), "thread");
    if (facts.threads.size() > 1) line += ", all seen within " + FormatDuration(dump_.took_ns());
    AddLine(line + ", nothing was stopped");
    if (!process.python_refused().empty())
      AddLine(options_.palette.Paint(Tone::kWarning,
                                     "no Python frames: " + SafeText(process.python_refused())));
    AddGil(facts);
    name_width_ = 0;
    tid_width_ = 0;
    for (const v1::DumpThread* thread : facts.threads) {
      const std::size_t width = DisplayWidth(SafeText(thread->comm()));
      name_width_ = std::max(name_width_, std::min(width, kLongestName));
      tid_width_ = std::max(tid_width_, std::to_string(thread->tid()).size());
    }
    for (const Group& group : GroupThreads(facts.threads)) AddGroup(group);
  }

  void AddGil(const ProcessFacts& facts) {
    if (!facts.has_gil) return;
    std::string line = "GIL: ";
    if (facts.holders.empty()) line += facts.gil_known ? "not held" : "not known who holds it";
    for (const v1::DumpThread* holder : facts.holders) {
      line += holder == facts.holders.front() ? "held by " : ", another by ";
      line += std::to_string(holder->tid()) + " " + SafeText(holder->comm());
    }
    if (facts.gil_waiters > 0)
      line += ", waited for by " + FormatCount(facts.gil_waiters, "thread");
    AddLine(line);
  }

  void AddGroup(const Group& group) {
    text_.push_back('\n');
    for (const v1::DumpThread* thread : group) AddThread(*thread);
    const v1::DumpThread& first = *group.front();
    if (!first.no_stack().empty()) {
      const std::string state = first.state() == v1::STATE_ON_CPU ? "running" : "its state is old";
      AddLine(std::string(kIndent) + "[" + state + ": no stack: " + SafeText(first.no_stack()) +
              "]");
      return;
    }
    const auto shown = ShownFrames(dump_, first, options_);
    const bool python = std::ranges::any_of(
        shown, [](const v1::Frame* frame) { return frame->kind() == v1::FRAME_PYTHON; });
    if (shown.empty()) AddLine(std::string(kIndent) + "[no frames]");
    const std::size_t certain = CertainFrames(dump_, first, options_);
    for (std::size_t i = 0; i <= shown.size(); ++i) {
      if (i == certain && IsByFramePointer(first))
        AddLine(options_.palette.Paint(
            Tone::kWarning, Cut(std::string(kIndent) + "[by frame pointer from here on, " +
                                kFramePointerMeans + "]")));
      if (i < shown.size()) AddFrame(*shown[i], python);
    }
  }

  void AddThread(const v1::DumpThread& thread) {
    std::string number = std::to_string(thread.tid());
    number.insert(0, tid_width_ - std::min(tid_width_, number.size()), ' ');
    const std::string line =
        "thread " + number + " " + PadRight(SafeText(thread.comm()), name_width_);
    std::string state;
    Tone tone = Tone::kBlocked;
    if (thread.state() == v1::STATE_ON_CPU) {
      state = IsSpinning(thread.rule().frame_class()) ? "spinning" : "running";
      tone = Tone::kRunning;
    } else if (thread.state() == v1::STATE_RUNNABLE) {
      state = "runnable";
      tone = Tone::kRunnable;
    } else {
      state = "blocked";
    }
    if (thread.since_ns() != 0 && thread.seen_ns() >= thread.since_ns())
      state += " " + FormatDuration(thread.seen_ns() - thread.since_ns());
    std::string more;
    if (thread.state() == v1::STATE_BLOCKED) {
      more = WaitName(thread.wait());
      if (const std::string call = SyscallText(thread); !call.empty()) more += " (" + call + ")";
    } else if (thread.stack_ns() != 0 && thread.stack_ns() != thread.seen_ns()) {
      const bool before = thread.stack_ns() < thread.seen_ns();
      const std::uint64_t distance =
          before ? thread.seen_ns() - thread.stack_ns() : thread.stack_ns() - thread.seen_ns();
      more = "stack of " + FormatDuration(distance) + (before ? " before" : " after");
    }
    if (thread.gil() == v1::GIL_HELD) more += more.empty() ? "holds the GIL" : ", holds the GIL";
    constexpr std::size_t kStateWidth = 18;
    const std::string padded = more.empty() ? state : PadRight(state, kStateWidth);
    AddLine(options_.palette.Paint(Tone::kStrong, line) + "  " +
            options_.palette.Paint(tone, padded) + (more.empty() ? "" : " " + more));
    AddLabels(thread);
    AddHolders(thread);
  }

  // "labels: phase=forward, step=17"
  void AddLabels(const v1::DumpThread& thread) {
    if (thread.label().empty()) return;
    std::string line(kIndent);
    for (const v1::Label& label : thread.label()) {
      line += line.size() == kIndent.size() ? "labels: " : ", ";
      line += SafeText(label.name()) + "=" + SafeText(label.value());
    }
    AddLine(Cut(line));
  }

  // "waits for 4711 worker, which waits for 4712 main, which runs"
  void AddHolders(const v1::DumpThread& thread) {
    const std::vector<const v1::DumpThread*> holders = HoldersOf(dump_, thread);
    if (holders.empty()) return;
    std::string line(kIndent);
    const v1::DumpThread* waiter = &thread;
    for (const v1::DumpThread* holder : holders) {
      line += waiter == &thread ? "waits for " : ", which waits for ";
      line += NameOf(*holder);
      if (waiter == &thread)
        line += waiter->wait() == v1::WAIT_GIL ? ", which holds the GIL" : ", which holds the lock";
      waiter = holder;
    }
    if (waiter->owner() != 0) {
      line += ": a circle";
    } else if (waiter->state() == v1::STATE_BLOCKED) {
      line += " and waits: " + std::string(WaitName(waiter->wait()));
    } else {
      line += waiter->state() == v1::STATE_ON_CPU ? " and runs" : " and has no CPU";
    }
    AddLine(options_.palette.Paint(Tone::kBlocked, Cut(line)));
  }

  // "deadlock: 4711 worker waits for 4712 main, 4712 main waits for 4711 worker"
  void AddDeadlocks() {
    for (const auto& circle : Deadlocks(dump_)) {
      std::string line = "deadlock: ";
      for (std::size_t i = 0; i < circle.size(); ++i)
        line += (i == 0 ? "" : ", ") + NameOf(*circle[i]) + " waits for " +
                NameOf(*circle[(i + 1) % circle.size()]);
      AddLine(options_.palette.Paint(Tone::kWarning, line));
    }
  }

  static std::string NameOf(const v1::DumpThread& thread) {
    return std::to_string(thread.tid()) + " " + SafeText(thread.comm());
  }

  void AddFrame(const v1::Frame& frame, bool python_stack) {
    const bool is_python = frame.kind() == v1::FRAME_PYTHON;
    std::string line(kIndent);
    if (python_stack && !is_python) line += kIndent;
    line += FrameName(frame, options_.style);
    if (!is_python && !frame.file().empty()) {
      line += " (" + SafeName(BaseName(frame.file()));
      if (frame.line() != 0) line += ":" + std::to_string(frame.line());
      line += ")";
    } else if (frame.kind() == v1::FRAME_NATIVE && !frame.name().empty() &&
               !frame.module().empty()) {
      line += " (" + SafeName(ModuleName(frame)) + ")";
    }
    Tone tone = Tone::kPlain;
    if (python_stack) tone = is_python ? Tone::kStrong : Tone::kFaint;
    AddLine(options_.palette.Paint(tone, Cut(line)));
  }

  const v1::Dump& dump_;
  const DumpOptions& options_;
  std::string text_;
  std::size_t name_width_ = 0;
  std::size_t tid_width_ = 0;
};

}  // namespace

std::string RenderDump(const v1::Dump& dump, const DumpOptions& options) {
  return Renderer(dump, options).Run();
}

}  // namespace profd::client
