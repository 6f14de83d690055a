#include "client/cli/help_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace profd::client {
namespace {

constexpr std::size_t kTextColumn = 27;

// Words in lines of at most kHelpWidth, all but the first indented by `indent`; the first line has
// `used` columns already.
std::string Wrap(const std::string& text, std::size_t used, std::size_t indent) {
  std::istringstream words(text);
  std::string out;
  std::string word;
  bool line_empty = true;
  while (words >> word) {
    if (!line_empty && used + 1 + word.size() > kHelpWidth) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      line_empty = true;
    }
    if (!line_empty) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    line_empty = false;
  }
  return out + "\n";
}

std::string Entry(const std::string& title, const std::string& text) {
  std::string out = "  " + title;
  if (out.size() + 2 > kTextColumn) {
    out += "\n" + std::string(kTextColumn, ' ');
  } else {
    out.resize(kTextColumn, ' ');
  }
  return out + Wrap(text, kTextColumn, kTextColumn);
}

// "-p, --pid PID[,PID]...". Long names are in one column whether there is a short one or not.
std::string Title(const Option& option) {
  std::string title;
  for (const std::string& name : NamesOf(option)) {
    if (title.empty())
      title = name.starts_with("--") ? "    " + name : name;
    else
      title += ", " + name;
  }
  return title + ValueText(option);
}

}  // namespace

std::string HelpText(const Command& command, std::span<const Command* const> commands) {
  std::string out = "Usage: " + command.usage + "\n\n" + Wrap(command.summary, 0, 0);
  if (!command.about.empty()) out += "\n" + Wrap(command.about, 0, 0);
  if (!commands.empty()) out += "\nCommands:\n";
  for (const Command* one : commands)
    out += Entry(one->alias.empty() ? one->name : one->name + ", " + one->alias, one->summary);
  std::vector<std::string_view> groups;
  for (const Option& option : command.options)
    if (!option.IsArgument() && std::ranges::find(groups, option.group) == groups.end())
      groups.push_back(option.group);
  for (const std::string_view group : groups) {
    out += "\n" + std::string(group) + ":\n";
    for (const Option& option : command.options)
      if (option.group == group && !option.IsArgument()) out += Entry(Title(option), option.help);
  }
  if (!command.footer.empty()) out += "\n" + command.footer + "\n";
  return out;
}

}  // namespace profd::client
