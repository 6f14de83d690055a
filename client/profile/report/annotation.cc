#include "client/profile/report/annotation.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "client/profile/report/call_tree.h"
#include "client/profile/report/shown_stacks.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

bool IsFile(const v1::Frame& frame, std::string_view file) {
  const std::string_view path = frame.file();
  if (path == file) return !path.empty();
  return path.size() > file.size() && path.ends_with(file) &&
         path[path.size() - file.size() - 1] == '/';
}

// Which frames are meant, and what they are.
struct Meant {
  std::vector<bool> frames;
  std::vector<std::uint32_t> list;
};

template <typename Fits>
Meant MeantBy(const v1::Profile& profile, const Fits& fits) {
  Meant meant;
  for (int i = 0; i < profile.frames_size(); ++i) {
    meant.frames.push_back(fits(profile.frames(i)));
    if (meant.frames.back()) meant.list.push_back(static_cast<std::uint32_t>(i));
  }
  return meant;
}

Error Several(std::string_view what, const char* kind, const std::set<std::string>& which) {
  constexpr std::size_t kMost = 5;
  std::string list;
  std::size_t shown = 0;
  for (const std::string& one : which) {
    if (++shown > kMost) break;
    list += (list.empty() ? "" : ", ") + SafeName(one);
  }
  return Error{ErrorCode::kInvalidArgument,
               "--annotate: there are " + std::to_string(which.size()) + " " + kind + " '" +
                   SafeName(what) + "'",
               "write one of " + list};
}

Result<Annotation> LinesOf(const Meant& meant, std::string_view what, const char* kind,
                           const v1::Profile& profile, const TableOptions& options) {
  std::set<std::string> files;
  for (const std::uint32_t frame : meant.list)
    files.insert(profile.frames(static_cast<int>(frame)).file());
  if (files.size() > 1) return Several(what, kind, files);
  Annotation annotation{.kind = Annotation::Kind::kSource,
                        .name = SafeName(what),
                        .path = *files.begin(),
                        .symbol = {},
                        .places = {},
                        .all_ns = 0};
  const ShownStacks stacks(profile, options.kernel);
  std::map<std::uint32_t, ReportTime> times;  // by shown leaf
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    times[stacks.Leaf(profile.samples().node(i))].Add(profile, i);
    annotation.all_ns += profile.samples().weight_ns(i);
  }
  const bool python =
      profile.frames(static_cast<int>(meant.list.front())).kind() == v1::FRAME_PYTHON;
  for (const auto& [leaf, time] : times) {
    std::set<std::uint32_t> seen;
    bool innermost = true;  // no frame above it has lines of that language
    for (std::uint32_t node = leaf; node != 0; node = stacks.Parent(node)) {
      const v1::Frame& frame = profile.frames(static_cast<int>(stacks.Frame(node)));
      if (meant.frames[stacks.Frame(node)]) {
        PlaceTime& place = annotation.places[frame.line()];
        if (innermost) place.self += time;
        if (seen.insert(frame.line()).second) place.total += time;
      }
      if (!python || frame.kind() == v1::FRAME_PYTHON) innermost = false;
    }
  }
  return annotation;
}

// The frame whose code ran: what is inlined there has the same instructions.
std::uint32_t CodeOf(const v1::Profile& profile, const ShownStacks& stacks, std::uint32_t leaf) {
  std::uint32_t node = leaf;
  while (node != 0 && profile.frames(static_cast<int>(stacks.Frame(node))).inlined())
    node = stacks.Parent(node);
  return node;
}

Result<Annotation> InstructionsOf(const Meant& meant, std::string_view what,
                                  const v1::Profile& profile, const TableOptions& options) {
  std::set<std::string> modules;
  const v1::Frame* frame = nullptr;
  for (const std::uint32_t index : meant.list) {
    const v1::Frame& of = profile.frames(static_cast<int>(index));
    if (of.kind() != v1::FRAME_NATIVE || of.inlined()) continue;
    modules.insert(of.module());
    frame = &of;
  }
  const std::string name = SafeName(what);
  if (frame == nullptr)
    return Error{ErrorCode::kUnsupported,
                 "--annotate: '" + name +
                     "' has no code of its own in a file: it is of the kernel, "
                     "inlined, or made at run time",
                 "profctl report --by line has the lines of inlined functions"};
  if (modules.size() > 1) return Several(what, "modules with a function", modules);
  if (!frame->module().starts_with('/'))
    return Error{ErrorCode::kUnsupported,
                 "--annotate: '" + name + "' is in no file: " + SafeName(frame->module()), ""};
  Annotation annotation{.kind = Annotation::Kind::kCode,
                        .name = name,
                        .path = frame->module(),
                        .symbol = frame->symbol().empty() ? frame->name() : frame->symbol(),
                        .places = {},
                        .all_ns = 0};
  const ShownStacks stacks(profile, options.kernel);
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    annotation.all_ns += profile.samples().weight_ns(i);
    const std::uint32_t leaf = stacks.Leaf(profile.samples().node(i));
    const std::uint32_t node = CodeOf(profile, stacks, leaf);
    if (node == 0 || !meant.frames[stacks.Frame(node)]) continue;
    const v1::Frame& code = profile.frames(static_cast<int>(stacks.Frame(node)));
    annotation.places[code.offset()].self.Add(profile, i);
  }
  return annotation;
}

}  // namespace

Result<Annotation> AnnotationOf(std::string_view what, const v1::Profile& profile,
                                const TableOptions& options) {
  const Meant in_file =
      MeantBy(profile, [&](const v1::Frame& frame) { return IsFile(frame, what); });
  if (!in_file.list.empty()) return LinesOf(in_file, what, "files called", profile, options);
  const Meant called =
      MeantBy(profile, [&](const v1::Frame& frame) { return IsFunction(frame, what); });
  if (called.list.empty()) return NoSuchFunction(profile, what);
  const bool python = std::ranges::any_of(called.list, [&](std::uint32_t frame) {
    return profile.frames(static_cast<int>(frame)).kind() == v1::FRAME_PYTHON;
  });
  if (!python) return InstructionsOf(called, what, profile, options);
  return LinesOf(called, what, "files with a function", profile, options);
}

}  // namespace profd::client
