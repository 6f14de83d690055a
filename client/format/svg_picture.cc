#include "client/format/svg_picture.h"

#include <algorithm>
#include <cstdio>

#include "client/format/svg_parts.h"
#include "client/text/escape.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

// Frames narrower than this share of the width are merged, as long as few enough remain.
constexpr double kNarrowest = 1.0 / 1200;
constexpr std::size_t kMostFrames = 2000;
// From here on a frame shows the beginning of its name, and (a little earlier) has a tooltip.
constexpr double kNamed = 0.02;
constexpr double kTold = 0.004;

class Writer {
 public:
  Writer(const FlameGraph& graph, const SvgFrames& frames, std::uint32_t rows, std::ostream& out)
      : graph_(graph), frames_(frames), rows_(rows), out_(out) {}

  void Write(const FlameNode& frame) {
    const double share = Share(frame.total_ns);
    const std::string& label = graph_.LabelOf(frame);
    const std::string style = frames_.ClassOf(frame);
    out_ << "<rect class=\"" << style << '"';
    Place(frame.depth, frame.start_ns, frame.total_ns);
    if (share < kTold) {
      out_ << "/>\n";
      return;
    }
    out_ << "><title>" << EscapeXml(label) << '\n'
         << FormatShare(frame.total_ns, graph_.total_ns) << ", " << FormatDuration(frame.total_ns)
         << ", " << EscapeXml(frames_.TextOf(frame)) << "</title></rect>\n";
    if (share < kNamed) return;
    out_ << "<svg";  // cuts the name at the frame's edge, whatever the window's width
    Place(frame.depth, frame.start_ns, frame.total_ns);
    out_ << "><text class=\"" << style << R"( in" x="4" y="13">)" << frames_.MarkOf(frame)
         << EscapeXml(label) << "</text></svg>\n";
  }

  void Write(const SvgPicture::Merged& merged) {
    out_ << R"(<rect class="few")";
    Place(merged.depth, merged.start_ns, merged.total_ns);
    if (Share(merged.total_ns) < kTold) {
      out_ << "/>\n";
      return;
    }
    out_ << "><title>" << FormatCount(merged.frames) << " frames, each too narrow to be drawn\n"
         << FormatShare(merged.total_ns, graph_.total_ns) << ", " << FormatDuration(merged.total_ns)
         << "</title></rect>\n";
  }

 private:
  double Share(std::uint64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(graph_.total_ns);
  }

  void Place(std::uint32_t depth, std::uint64_t start_ns, std::uint64_t total_ns) {
    char text[128];
    std::snprintf(text, sizeof text, " x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%u\"",
                  100 * Share(start_ns), (rows_ - 1 - depth) * kSvgRowHeight, 100 * Share(total_ns),
                  kSvgRowHeight);
    out_ << text;
  }

  const FlameGraph& graph_;
  const SvgFrames& frames_;
  const std::uint32_t rows_;
  std::ostream& out_;
};

}  // namespace

SvgPicture::SvgPicture(const FlameGraph& graph) : graph_(graph) {
  double narrowest = kNarrowest;
  do {
    Draw(narrowest);
    narrowest *= 1.5;
  } while (frames_.size() > kMostFrames);
}

void SvgPicture::Draw(double narrowest) {
  frames_.clear();
  merged_.clear();
  rows_ = 0;
  const double least = narrowest * static_cast<double>(graph_.total_ns);
  const std::vector<FlameNode>& nodes = graph_.nodes;
  for (std::size_t i = 0; i < nodes.size();) {
    const FlameNode& frame = nodes[i];
    rows_ = std::max(rows_, frame.depth + 1);
    if (static_cast<double>(frame.total_ns) >= least) {
      frames_.push_back(&frame);
      ++i;
      continue;
    }
    // Siblings come heaviest first: all that follow up to the parent's end are narrow too.
    Merged merged{frame.depth, frame.start_ns, 0, 0};
    for (; i < nodes.size() && nodes[i].depth >= frame.depth; ++i) {
      if (nodes[i].depth == frame.depth) merged.total_ns += nodes[i].total_ns;
      ++merged.frames;
    }
    merged_.push_back(merged);
  }
}

void SvgPicture::Write(const SvgFrames& frames, std::ostream& out) const {
  Writer writer(graph_, frames, rows_, out);
  for (const FlameNode* frame : frames_) writer.Write(*frame);
  for (const Merged& merged : merged_) writer.Write(merged);
}

std::string SvgClass(NodeKind kind, std::string_view label) {
  std::uint32_t hash = 0;
  for (const char c : label) hash = hash * 31 + static_cast<unsigned char>(c);
  const std::string shade = " s" + std::to_string(hash % 3);
  switch (kind) {
    case NodeKind::kAll:
    case NodeKind::kProcess:
    case NodeKind::kThread:
      return "pro";
    case NodeKind::kPseudo:
      return "psd";
    case NodeKind::kRunning:
      return "run";
    case NodeKind::kRunnable:
      return "rdy";
    case NodeKind::kBlocked: {
      const std::size_t reason = label.find(':');
      if (reason == std::string_view::npos) return "blk";
      return "blk " + std::string(label.substr(reason + 1, label.size() - reason - 2));
    }
    case NodeKind::kKernel:
      return "ker" + shade;
    case NodeKind::kPython:
      return "pyt" + shade;
    case NodeKind::kJit:
      return "jit" + shade;
    case NodeKind::kNative:
      break;
  }
  return "nat" + shade;
}

}  // namespace profd::client
