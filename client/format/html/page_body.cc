#include "client/format/html/page_body.h"

#include <array>

#include "client/text/escape.h"

namespace profd::client {
namespace {

struct Section {
  const char* id;
  const char* title;
};
constexpr std::array kSections{Section{"heat", "Time"},
                               Section{"flame", "Flame graph"},
                               Section{"functions", "Functions"},
                               Section{"sides", "Callers and callees"},
                               Section{"keys", "Threads, states and more"},
                               Section{"steps", "Steps"},
                               Section{"waits", "Who waits for whom"},
                               Section{"tree", "Tree"}};

}  // namespace

std::string PageBody(std::string_view without_script) {
  std::string body =
      "<header>\n<h1 id=\"title\"></h1>\n<p id=\"facts\" class=\"dim\"></p>\n"
      "<ul id=\"notes\" role=\"status\"></ul>\n<noscript><p>" +
      EscapeXml(without_script) +
      "</p></noscript>\n"
      "<div id=\"states\"></div>\n</header>\n<div class=\"stays\">\n<div class=\"tools\">"
      "<input id=\"search\" type=\"search\" placeholder=\"search functions ( / )\" "
      "aria-label=\"search functions\"><span id=\"found\" aria-live=\"polite\"></span>"
      "<label><input id=\"kernel\" type=\"checkbox\"> functions of the kernel</label>"
      "<button id=\"theme\" type=\"button\">dark or light</button></div>\n"
      "<p id=\"selection\" class=\"dim\" aria-live=\"polite\"></p>\n</div>\n<main>\n";
  for (const Section& section : kSections) {
    body.append("<section aria-labelledby=\"").append(section.id);
    body.append("-title\"><h2 id=\"").append(section.id).append("-title\">");
    body.append(section.title).append("</h2><div id=\"").append(section.id);
    body.append("\"></div></section>\n");
  }
  return body + "</main>\n";
}

}  // namespace profd::client
