// SvgPage: the svg around the frames of a graph, and what its head is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace profd::client {

// The head: title, when and how long, the bar of states, the legend, what the numbers rest on.
// Everything is placed in percent of the width and px of height, so that it fits any window.
inline constexpr std::uint32_t kSvgHeadHeight = 190;
inline constexpr std::uint32_t kSvgRowHeight = 18;

// "12.5000%": a part of the width.
[[nodiscard]] std::string SvgPercent(std::uint64_t part, std::uint64_t whole);

// A part of a bar of states: a state, blocked by reason.
struct SvgState {
  std::string name;    // "working", "blocked"
  std::string reason;  // of blocked: "lock", "unknown"
  std::string style;   // class
  std::uint64_t ns = 0;
};
// "blocked: lock 79.8 %"
[[nodiscard]] std::string SvgStateText(const SvgState& part, std::uint64_t total_ns);
// As wide as `total_ns`.
void WriteSvgBar(std::string_view id, int y, const std::vector<SvgState>& states,
                 std::uint64_t total_ns, std::ostream& out);

// A line of text, cut to the window by the script; empty parts are left out.
void WriteSvgLine(int y, std::string_view style, const std::vector<std::string>& parts,
                  std::ostream& out);

// A line of coloured squares and what they stand for; written as long as it lives.
class SvgLegend {
 public:
  SvgLegend(int y, std::ostream& out);
  ~SvgLegend();
  SvgLegend(const SvgLegend&) = delete;
  SvgLegend& operator=(const SvgLegend&) = delete;

  void AddText(const std::string& text) { AddSpan("", text, 12); }
  void Add(std::string_view style, const std::string& text, std::string_view point = kSquare);
  static constexpr std::string_view kSquare = "\xE2\x96\xA0";
  static constexpr std::string_view kHatchedSquare = "\xE2\x96\xA8";

 private:
  void AddSpan(const std::string& style, const std::string& text, int gap);

  std::ostream& out_;
  bool first_ = true;
};

using SvgWriter = std::function<void(std::ostream&)>;

// The file around its parts: the head, the data for the script, the picture for where none runs.
struct SvgPage {
  std::string title;
  std::uint32_t head_height = kSvgHeadHeight;
  std::uint32_t rows = 0;  // of the picture; 0: there is no graph
  std::string when_empty = "There are no samples in this profile.";
};
void WriteSvgPage(const SvgPage& page, const SvgWriter& head, const SvgWriter& data,
                  const SvgWriter& picture, std::ostream& out);

}  // namespace profd::client
