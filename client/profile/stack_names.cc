#include "client/profile/stack_names.h"

#include <iterator>
#include <sstream>
#include <unordered_set>

#include "client/profile/host_names.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/wait_reasons.h"
#include "daemon/base/files.h"
#include "daemon/base/utf8.h"

namespace profd::client {
namespace {

constexpr std::string_view kCut = "...";

std::string UnknownName(const v1::Frame& frame) {
  std::string name = "[unknown";
  if (!frame.module().empty()) {
    name += ' ';
    name += ModuleName(frame);
  }
  if (frame.offset() != 0) {
    name += frame.module().empty() ? ' ' : '+';
    name += HexNumber(frame.offset());
  }
  return name + "]";
}

std::string_view Mark(const v1::Frame& frame, const FrameStyle& style) {
  if (!style.suffixes) return "";
  if (frame.kind() == v1::FRAME_KERNEL) return "_[k]";
  if (frame.inlined() && style.inlined) return "_[i]";
  if (frame.kind() == v1::FRAME_JIT) return "_[j]";
  return "";
}

std::string Numbered(const std::string& name, std::uint32_t number) {
  return SafeName(name) + " (" + std::to_string(number) + ")";
}

// A group of short-lived ones.
std::string Counted(const std::string& name, std::uint32_t members) {
  return SafeName(name) + " x " + std::to_string(members);
}

}  // namespace

std::string SafeName(std::string_view name) {
  std::string safe;
  safe.reserve(name.size());
  while (!name.empty()) {
    if (safe.size() + kCut.size() + 4 > kMaxNameBytes) return safe.append(kCut);
    const CodePoint next = TakeCodePoint(name);
    if (!next.valid)
      safe += kReplacementCharacter;
    else if (next.code == ';')
      safe += ':';
    else
      safe += IsUnsafeToPrint(next.code) ? "?" : next.bytes;
  }
  return safe.empty() ? "[unknown]" : safe;
}

std::string FrameName(const v1::Frame& frame, const FrameStyle& style) {
  const bool mangled = style.mangled && !frame.symbol().empty();
  const bool full = style.signature && !frame.full_name().empty();
  const std::string& known = mangled ? frame.symbol() : full ? frame.full_name() : frame.name();
  std::string name = SafeName(known.empty() ? UnknownName(frame) : known);
  if (frame.kind() == v1::FRAME_PYTHON && style.place && !frame.file().empty()) {
    name += " (" + SafeName(BaseName(frame.file()));
    if (style.line && frame.line() != 0) name += ":" + std::to_string(frame.line());
    name += ")";
  }
  return name.append(Mark(frame, style));
}

std::string_view ModuleName(const v1::Frame& frame) {
  return frame.program().empty() ? BaseName(frame.module()) : std::string_view(frame.program());
}

// Of a profile of several hosts "python3 (4242) on web1".
std::string ProcessName(const v1::Process& process) {
  const std::string on = OnHost(process);
  if (process.group_size() != 0) return Counted(process.comm(), process.group_size()) + on;
  if (process.pid() == 0) return SafeName(process.comm()) + on;  // of GroupBy
  return Numbered(process.comm(), process.pid()) + on;
}

std::string ThreadName(const v1::Thread& thread) {
  if (thread.group_size() != 0) return Counted(thread.comm(), thread.group_size());
  return Numbered(thread.comm(), thread.tid());
}

std::string UserName(const v1::Process& process) {
  if (!process.user().empty() || !process.has_uid()) return process.user();
  return std::to_string(process.uid());
}

bool IsFunction(const v1::Frame& frame, std::string_view name) {
  return FrameName(frame, {.place = false, .suffixes = false}) == name ||
         FrameName(frame, {.place = false, .inlined = false}) == name ||
         FrameName(frame, {.inlined = false}) == name ||
         FrameName(frame, {.line = false, .inlined = false}) == name;
}

Error NoSuchFunction(const v1::Profile& profile, std::string_view name) {
  constexpr std::size_t kMost = 5;
  std::string like;
  std::unordered_set<std::string> seen;
  for (const v1::Frame& frame : profile.frames()) {
    const std::string text = FrameName(frame, {.line = false, .inlined = false});
    if (text.find(name) == std::string::npos || !seen.insert(text).second) continue;
    if (seen.size() > kMost) break;
    like += (like.empty() ? "" : ", ") + text;
  }
  return Error{ErrorCode::kNotFound, "no data: no stack has the function '" + SafeName(name) + "'",
               like.empty() ? "profctl report --by function lists them" : "there are " + like};
}

std::string WithoutNumbers(std::string_view name) {
  std::string stem;
  for (const char c : name) {
    if (c < '0' || c > '9')
      stem.push_back(c);
    else if (stem.empty() || stem.back() != '*')
      stem.push_back('*');
  }
  return stem;
}

std::string ProgramOf(const v1::Process& process) {
  constexpr int kWords = 3;
  std::istringstream words(process.command_line());
  std::string program = process.comm();
  std::string word;
  for (int i = 0; i < kWords && words >> word; ++i) program += ' ' + WithoutNumbers(word);
  return program;
}

ProgramNames::ProgramNames(const v1::Profile& profile) {
  for (const v1::Process& process : profile.processes())
    processes_[ProgramOf(process)] += MembersOf(process);
}

std::string ProgramNames::Of(const v1::Process& process) {
  const std::string program = ProgramOf(process);
  const std::size_t processes = processes_.at(program);
  if (processes == 1) return ProcessName(process);
  const std::string name = SafeName(process.comm()) + " x " + std::to_string(processes);
  const auto [known, added] = names_.emplace(name, program);
  return added || known->second == program ? name : SafeName(name + " of " + program);
}

std::string_view WaitName(v1::WaitReason wait) { return EntryOf(wait).name(); }

std::string_view GilName(v1::Gil gil) {
  switch (gil) {
    case v1::GIL_NONE:
      return "";
    case v1::GIL_NOT_HELD:
      return "not held";
    case v1::GIL_HELD:
      return "held";
    case v1::GIL_WAITED:
      return "waited";
    default:
      return "unknown";
  }
}

std::string_view StateName(v1::State state) {
  switch (state) {
    case v1::STATE_ON_CPU:
      return "on_cpu";
    case v1::STATE_RUNNABLE:
      return "runnable";
    default:
      return "blocked";
  }
}

std::string_view StateFrameName(v1::State state, v1::WaitReason wait, v1::Gil gil, bool spinning) {
  if (state == v1::STATE_ON_CPU) return spinning ? "[spinning]" : "[working]";
  if (state == v1::STATE_RUNNABLE)
    return gil == v1::GIL_HELD ? "[runnable:gil-holder]" : "[runnable]";
  return EntryOf(wait).frame;
}

std::string_view StateFrameName(const v1::Profile& profile, int sample) {
  const v1::Samples& samples = profile.samples();
  return StateFrameName(samples.state(sample), samples.wait(sample), GilOf(samples, sample),
                        IsSpinning(profile, sample));
}

std::map<std::string, std::string> BuildIdsOf(const v1::Profile& profile) {
  std::map<std::string, std::string> build_ids;
  for (const v1::Module& module : profile.modules())
    if (!module.build_id().empty())
      build_ids[SafeName(module.path())] = SafeName(module.build_id());
  return build_ids;
}

std::string TitleOf(const v1::Profile& profile) {
  constexpr std::string_view kOnePid = "pid ";
  const auto others = ProcessCount(profile) - 1;
  std::string part = profile.only_gil() ? ", only with the GIL held" : "";
  if (!profile.filter().empty()) part += ", only " + SafeName(profile.filter());
  for (const v1::Process& process : profile.processes()) {
    const std::string target = std::string(kOnePid) + std::to_string(process.pid());
    const bool named = profile.target() == target || profile.target().starts_with(target + " ");
    if (others > 0 && !named) continue;
    std::string title =
        process.group_size() != 0
            ? ProcessName(process)
            : Numbered(process.command_line().empty() ? process.comm() : process.command_line(),
                       process.pid());
    if (others > 0)
      title +=
          " and " + std::to_string(others) + (others == 1 ? " more process" : " more processes");
    return title.append(part);
  }
  return SafeName(profile.target()).append(part);
}

}  // namespace profd::client
