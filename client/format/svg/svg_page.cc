#include "client/format/svg/svg_page.h"

#include <utility>

#include "client/format/svg/svg_assets.h"
#include "client/profile/wait_reasons.h"
#include "client/text/escape.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kMargin = 12;
// A graph without frames has this place for saying so.
constexpr std::uint32_t kEmptyHeight = 60;

// The style, with the colours of the wait reasons in their place.
void WriteStyle(std::ostream& out) {
  constexpr std::string_view kPlace = "@WAIT_REASONS@\n";
  const std::size_t at = kSvgStyle.find(kPlace);
  out << kSvgStyle.substr(0, at);
  for (const WaitReasonEntry& entry : WaitReasons()) {
    if (entry.light.empty()) continue;
    const std::string name(entry.name());
    out << "." << name << " { fill: " << entry.light << "; }\n";
    if (entry.is_pale) out << "text." << name << " { fill: var(--pale-ink); }\n";
  }
  out << "@media screen and (prefers-color-scheme: dark) {\n";
  for (const WaitReasonEntry& entry : WaitReasons())
    if (!entry.dark.empty()) out << "  ." << entry.name() << " { fill: " << entry.dark << "; }\n";
  out << "}\n" << kSvgStyle.substr(at + kPlace.size());
}

void OpenPane(std::string_view id, const SvgPage& page, std::ostream& out) {
  out << "<svg id=\"" << id << R"(" x="1%" y=")" << page.head_height << R"(" width="98%" height=")"
      << page.rows * kSvgRowHeight << "\">\n";
}

}  // namespace

std::string SvgPercent(std::uint64_t part, std::uint64_t whole) {
  return FormatDecimals(100 * ShareOf(part, whole), 4) + "%";
}

void WriteSvgPage(const SvgPage& page, const SvgWriter& head, const SvgWriter& data,
                  const SvgWriter& picture, std::ostream& out) {
  const std::uint32_t height =
      page.head_height + kMargin + (page.rows == 0 ? kEmptyHeight : page.rows * kSvgRowHeight);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << R"(<svg xmlns="http://www.w3.org/2000/svg" width="1200" height=")" << height
      << "\" class=\"page\">\n<title>" << EscapeXml(page.title) << "</title>\n<style>";
  WriteStyle(out);
  out << "</style>\n"
      << R"(<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" )"
      << "patternTransform=\"rotate(45)\"><rect class=\"hatched\" width=\"6\" height=\"6\"/>"
      << R"(<rect class="hatching" width="2.5" height="6"/></pattern></defs>)" << '\n'
      << R"(<rect class="paper" width="100%" height="100%"/>)" << '\n';
  head(out);
  if (page.rows == 0) {
    out << R"(<text class="title" x="1%" y=")" << page.head_height + kEmptyHeight / 2 << "\">"
        << EscapeXml(page.when_empty) << "</text>\n</svg>\n";
    return;
  }
  OpenPane("graph", page, out);
  out << R"(<g id="frames"/></svg>)" << '\n';
  // The script comes first: where it runs, the picture behind it is never drawn.
  out << R"(<script type="application/json" id="data">)";
  data(out);
  out << "</script>\n<script><![CDATA[\n" << kSvgScript << "]]></script>\n";
  OpenPane("still", page, out);
  picture(out);
  out << "</svg>\n</svg>\n";
}

std::string SvgStateText(const SvgState& part, std::uint64_t total_ns) {
  return part.name + (part.reason.empty() ? "" : ": " + part.reason) + " " +
         FormatShare(part.ns, total_ns);
}

void WriteSvgBar(std::string_view id, int y, const std::vector<SvgState>& states,
                 std::uint64_t total_ns, std::ostream& out) {
  out << "<svg id=\"" << id << R"(" x="1%" y=")" << y << R"(" width="98%" height="24">)"
      << R"(<rect class="empty" width="100%" height="100%"/>)";
  std::uint64_t at = 0;
  for (const SvgState& part : states) {
    const std::string text = SvgStateText(part, total_ns);
    out << "<svg x=\"" << SvgPercent(at, total_ns) << "\" width=\"" << SvgPercent(part.ns, total_ns)
        << "\" height=\"24\"><title>" << EscapeXml(text + ", " + FormatDuration(part.ns))
        << "</title><rect class=\"" << part.style << R"(" width="100%" height="100%"/>)";
    // A name that would be cut in a window of usual width says nothing.
    if (part.ns >= total_ns / 9)
      out << "<text class=\"" << part.style << R"( in" x="6" y="16">)" << EscapeXml(text)
          << "</text>";
    out << "</svg>\n";
    at += part.ns;
  }
  out << "</svg>\n";
}

void WriteSvgLine(int y, std::string_view style, const std::vector<std::string>& parts,
                  std::ostream& out) {
  out << R"(<text class=")" << style << R"(" x="1%" y=")" << y << "\">";
  const char* separator = "";
  for (const std::string& part : parts)
    if (!part.empty()) out << std::exchange(separator, " \xC2\xB7 ") << EscapeXml(part);
  out << "</text>\n";
}

SvgLegend::SvgLegend(int y, std::ostream& out) : out_(out) {
  out_ << R"(<text class="line" x="1%" y=")" << y << "\">";
}

SvgLegend::~SvgLegend() { out_ << "</text>\n"; }

void SvgLegend::Add(std::string_view style, const std::string& text, std::string_view point) {
  AddSpan("key " + std::string(style), std::string(point), 12);
  AddSpan("", text, 4);
}

void SvgLegend::AddSpan(const std::string& style, const std::string& text, int gap) {
  out_ << "<tspan";
  if (!style.empty()) out_ << " class=\"" << style << '"';
  if (!first_) out_ << " dx=\"" << gap << '"';
  out_ << '>' << EscapeXml(text) << "</tspan>";
  first_ = false;
}

}  // namespace profd::client
