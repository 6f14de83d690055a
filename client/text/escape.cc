#include "client/text/escape.h"

namespace profd::client {

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string QuoteDot(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n')
      quoted += "\\n";
    else if (c == '&')  // labels know the entities of HTML
      quoted += "&amp;";
    else if (c == '"' || c == '\\')
      quoted += std::string{'\\', c};
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string QuoteJson(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  constexpr std::string_view kLineSeparators = "\xE2\x80";  // U+2028, U+2029: then A8, A9
  std::string quoted = "\"";
  quoted.reserve(text.size() + 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F || c == '<' || c == '>' || c == '&') {
      quoted += "\\u00";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 0xF];
    } else if (text.substr(i, 2) == kLineSeparators && i + 2 < text.size() &&
               (text[i + 2] == '\xA8' || text[i + 2] == '\xA9')) {
      quoted += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace profd::client
