// perf-script: the text that `perf script` prints, for all that reads it.
//
//   comm      pid/tid  seconds.nanoseconds:  ns event:
//           address symbol (module)          innermost first, then an empty line
//
// The period of a sample is its weight in ns. All samples are of one event, since readers drop all
// others: wall, cpu-clock or off-cpu. The innermost frame of a thread that does not work is its
// state, as in folded. Readers split lines at blanks and parentheses, and leave frames out that
// begin with one: those are written in other ways.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "client/format/exporter.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// Of the file: nothing reads more at once.
constexpr std::uint64_t kMaxBytes = 4ull << 30;

// A word: nothing that ends one, or the parentheses around it.
std::string Word(std::string text) {
  for (char& c : text)
    if (c == ' ' || c == '(' || c == ')') c = '_';
  return text;
}

// "(anonymous namespace)::f" as "{anonymous namespace}::f".
std::string Symbol(std::string text) {
  if (!text.starts_with('(')) return text;
  text.front() = '{';
  if (const std::size_t end = text.find(')'); end != std::string::npos) text[end] = '}';
  return text;
}

std::string_view EventOf(const v1::Profile& profile) {
  switch (ModeOf(profile)) {
    case Mode::kOnCpu:
      return "cpu-clock";
    case Mode::kOffCpu:
      return "off-cpu";
    default:
      return "wall";
  }
}

std::string ModuleOf(const v1::Frame& frame) {
  if (frame.kind() == v1::FRAME_KERNEL) return "[kernel.kallsyms]";
  if (frame.kind() == v1::FRAME_PSEUDO) return "profd";
  if (frame.inlined()) return "inlined";
  const std::string& place = frame.kind() == v1::FRAME_PYTHON ? frame.file() : frame.module();
  return place.empty() ? "[unknown]" : Word(SafeName(place));
}

std::string LineOf(const v1::Frame& frame, const FrameStyle& style) {
  constexpr int kWidth = 16;
  char address[kWidth + 1];
  std::snprintf(address, sizeof address, "%*llx", kWidth,
                static_cast<unsigned long long>(frame.offset()));
  const bool known = !frame.name().empty();
  return "\t" + std::string(address) + " " +
         (known ? Symbol(FrameName(frame, style)) : "[unknown]") + " (" + ModuleOf(frame) + ")\n";
}

std::string StateLine(std::string_view name) {
  return "\t               0 " + std::string(name) + " (profd)\n";
}

class Writer {
 public:
  Writer(const v1::Profile& profile, const ExportOptions& options)
      : profile_(profile), event_(EventOf(profile)) {
    const FrameStyle style{.signature = options.signatures,
                           .mangled = options.mangled,
                           .place = false,
                           .suffixes = false};
    lines_.reserve(static_cast<std::size_t>(profile.frames_size()));
    for (const v1::Frame& frame : profile.frames()) lines_.push_back(LineOf(frame, style));
    constexpr std::size_t kCommWidth = 16;
    for (const v1::Thread& thread : profile.threads()) {
      std::string head = Word(SafeName(thread.comm()));
      head.resize(std::max(head.size(), kCommWidth), ' ');
      heads_.push_back(head + " " +
                       std::to_string(profile.processes(static_cast<int>(thread.process())).pid()) +
                       "/" + std::to_string(thread.tid()));
    }
  }

  // About what the file has: heads of samples are short.
  [[nodiscard]] std::uint64_t Bytes() const {
    std::vector<std::uint64_t> of_stack{0};
    of_stack.reserve(static_cast<std::size_t>(profile_.nodes_size()) + 1);
    for (const v1::StackNode& node : profile_.nodes())
      of_stack.push_back(of_stack[node.parent()] + lines_[node.frame()].size());
    std::uint64_t bytes = 0;
    for (const std::uint32_t node : profile_.samples().node()) bytes += of_stack[node];
    return bytes;
  }

  void Write(std::ostream& out) const {
    for (int i = 0; i < profile_.samples().weight_ns_size(); ++i)
      if (profile_.samples().weight_ns(i) > 0) WriteSample(i, out);
  }

 private:
  void WriteSample(int i, std::ostream& out) const {
    const v1::Samples& samples = profile_.samples();
    char time[48];
    std::snprintf(time, sizeof time, "%llu.%09llu",
                  static_cast<unsigned long long>(samples.time_ns(i) / kNsPerSecond),
                  static_cast<unsigned long long>(samples.time_ns(i) % kNsPerSecond));
    out << heads_[samples.thread(i)] << ' ' << time << ": " << samples.weight_ns(i) << ' ' << event_
        << ":\n";
    if (!IsWorking(profile_, i)) out << StateLine(StateFrameName(profile_, i));
    if (samples.node(i) == 0) out << StateLine(kNoStack);
    for (std::uint32_t at = samples.node(i); at != 0;) {
      const v1::StackNode& node = profile_.nodes(static_cast<int>(at) - 1);
      out << lines_[node.frame()];
      at = node.parent();
    }
    out << '\n';
  }

  const v1::Profile& profile_;
  const std::string_view event_;
  std::vector<std::string> lines_;  // by frame
  std::vector<std::string> heads_;  // by thread
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const Writer writer(profile, options);
  if (writer.Bytes() > kMaxBytes)
    return Error{ErrorCode::kExhausted, "the profile is too large for the perf-script format",
                 "write json or folded, or collect for a shorter time"};
  writer.Write(out);
  return FinishStream(out);
}

}  // namespace

Exporter PerfScriptExporter() {
  return {.name = "perf-script",
          .extensions = {".perf", ".linux-perf.txt"},
          .about = "each sample, as the text of perf script",
          .viewers = "FlameGraph scripts, speedscope, Firefox Profiler, Perfetto",
          .write = Write};
}

}  // namespace profd::client
