#include "client/documents/manual_page.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>
#include <string_view>
#include <vector>

#include "client/format/exporter.h"

namespace profd::client {
namespace {

using Commands = std::span<const Command* const>;

bool IsUpper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

// Escapes what roff would take for a hyphen or for a command of its own.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-') escaped += '\\';
    escaped += c == '\\' ? std::string("\\e") : std::string(1, c);
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

// The names of values, in upper case, are in italics: "PID[,PID]...".
std::string Value(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (IsUpper(text[end]) || (end > at && text[end] == '.' && text.substr(end, 5) == ".json")))
      end += text[end] == '.' ? 5 : 1;
    if (end == at) {
      out += Roff(text.substr(at++, 1));
    } else {
      out += "\\fI" + Roff(text.substr(at, end - at)) + "\\fR";
      at = end;
    }
  }
  return out;
}

// "profctl top [TARGET] [--interval TIME]", with names of options in bold.
std::string Usage(const std::string& line) {
  static const std::regex bold(R"(^profctl [a-z]+|--?[a-z][a-z-]*|-- )");
  std::string out;
  std::string rest = line;
  for (std::smatch found; std::regex_search(rest, found, bold); rest = found.suffix())
    out += Value(found.prefix()) + "\\fB" + Roff(found.str()) + "\\fR";
  return out + Value(rest);
}

// A sentence a line, options in bold, the value of the option in italics.
std::string Sentences(const Option& option) {
  std::string text = option.help;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  text += ".";
  if (!option.more.empty()) text += " " + option.more;
  text = std::regex_replace(text, std::regex(R"(\. ([A-Z]))"), ".\n$1");
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += Roff(line) + "\n";
  out = std::regex_replace(out, std::regex(R"((^|[ (\n])((?:\\-){1,2}[A-Za-z](?:[a-z]|\\-)*))"),
                           "$1\\fB$2\\fR");
  const std::string value = option.value.substr(0, option.value.find('['));
  if (option.TakesValue())
    out = std::regex_replace(out, std::regex("\\b" + value + "\\b"), "\\fI" + value + "\\fR");
  return out;
}

std::string Tag(const Option& option) {
  std::string tag;
  for (const std::string& name : NamesOf(option))
    tag += (tag.empty() ? "\\fB\\%" : ", \\fB\\%") + Roff(name) + "\\fR";
  return tag + Value(ValueText(option));
}

bool IsSame(const Option& a, const Option& b) {
  return a.names == b.names && a.value == b.value && a.help == b.help && a.more == b.more;
}

bool Has(const Command& command, const Option& option) {
  return std::ranges::any_of(command.options,
                             [&](const Option& one) { return IsSame(one, option); });
}

// The first command before `command` that has the option, too; null for none.
const Command* OriginOf(const Option& option, const Command& command, Commands commands) {
  for (const Command* one : commands) {
    if (one == &command) return nullptr;
    if (Has(*one, option)) return one;
  }
  return nullptr;
}

// The options of a group. Neighbours that an earlier command has, too, share one entry.
std::string GroupText(const std::vector<const Option*>& options, const Command& command,
                      Commands commands) {
  std::string text;
  for (std::size_t i = 0; i < options.size();) {
    const Command* origin = OriginOf(*options[i], command, commands);
    std::size_t end = i + 1;
    while (origin != nullptr && end < options.size() &&
           OriginOf(*options[end], command, commands) == origin)
      ++end;
    text += ".TP\n" + Tag(*options[i]);
    if (end - i < 2) {
      text += "\n" + Sentences(*options[i++]);
      continue;
    }
    while (++i < end) text += ", " + Tag(*options[i]);
    text += "\nAs with\n.BR " + origin->name + " .\n";
  }
  return text;
}

// What not all commands have.
std::string OptionsText(const Command& command, Commands commands, const Command& root) {
  std::vector<std::string_view> groups;
  for (const Option& option : command.options)
    if (!option.IsArgument() && !Has(root, option) &&
        std::ranges::find(groups, option.group) == groups.end())
      groups.push_back(option.group);
  std::string text;
  for (const std::string_view group : groups) {
    std::vector<const Option*> options;
    for (const Option& option : command.options)
      if (option.group == group && !option.IsArgument() && !Has(root, option))
        options.push_back(&option);
    text += ".PP\n" + Roff(group) + ":\n" + GroupText(options, command, commands);
  }
  return text;
}

std::string SynopsisText(Commands commands) {
  std::string text;
  for (const Command* command : commands) {
    // A line that begins with an option goes on with the one before.
    const std::string usage = std::regex_replace(command->usage, std::regex(R"(\n *(?=\[))"), " ");
    std::istringstream lines(usage);
    for (std::string line; std::getline(lines, line);) {
      line.erase(0, line.find_first_not_of(' '));
      text += (text.empty() ? "" : ".br\n") + Usage(line) + "\n";
    }
  }
  return text;
}

std::string FormatsText() {
  std::string text;
  for (const Exporter& exporter : Exporters()) {
    std::string extensions;
    for (const std::string_view extension : exporter.extensions)
      extensions += (extensions.empty() ? "" : ", ") + std::string(extension);
    std::string about(exporter.about);
    about.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(about.front())));
    text += ".TP\n\\fB" + Roff(exporter.name) + "\\fR" + Roff(": " + extensions) + "\n" +
            Roff(about + ", for " + std::string(exporter.viewers)) + ".\n";
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> ManualParts(const Command& root, Commands commands) {
  std::map<std::string, std::string> parts{{"SYNOPSIS", SynopsisText(commands)},
                                           {"FORMATS", FormatsText()}};
  std::string common;
  for (const Option& option : root.options)
    common += ".TP\n" + Tag(option) + "\n" + Sentences(option);
  parts["COMMON"] = common;
  for (const Command* command : commands) {
    std::string text = OptionsText(*command, commands, root);
    if (!text.empty()) parts["OPTIONS " + command->name] = std::move(text);
  }
  return parts;
}

}  // namespace profd::client
