#include "client/commands/web/web_page.h"

#include <string>

#include "client/format/html/page_assets.h"
#include "client/format/html/page_body.h"

namespace profd::client {
namespace {

// The policy of the server lets the script and the style in, and nothing else.
std::string Frame() {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>profd</title>\n"
         "<link rel=\"stylesheet\" href=\"page.css\">\n<script src=\"page.js\" defer></script>\n"
         "</head>\n<body>\n<div id=\"served\"></div>\n<div id=\"profile\">\n" +
         PageBody("This page needs a script; the same numbers are in profctl report.") +
         "</div>\n</body>\n</html>\n";
}

}  // namespace

std::optional<WebAnswer> WebPage(std::string_view path) {
  if (path == "/") return WebAnswer{.type = "text/html; charset=utf-8", .body = Frame()};
  if (path == "/page.js")
    return WebAnswer{.type = "text/javascript; charset=utf-8", .body = std::string(kServedScript)};
  if (path == "/page.css")
    return WebAnswer{.type = "text/css; charset=utf-8",
                     .body = std::string(kPageStyle) + std::string(kServedStyle)};
  return std::nullopt;
}

}  // namespace profd::client
