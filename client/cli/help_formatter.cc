#include "client/cli/help_formatter.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace profd::client {
namespace {

constexpr std::size_t kTextColumn = 27;

std::vector<std::string> Paragraphs(const std::string& text) {
  std::vector<std::string> paragraphs;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", begin), text.size());
    paragraphs.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return paragraphs;
}

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

}  // namespace

std::string OptionTitle(const CLI::Option& option) {
  std::string title;
  for (const std::string& name : option.get_snames()) title += (title.empty() ? "-" : ", -") + name;
  // Long names stand in one column whether there is a short one or not.
  if (title.empty()) title = "   ";
  for (const std::string& name : option.get_lnames())
    title += (title == "   " ? " --" : ", --") + name;
  if (option.get_snames().empty() && option.get_lnames().empty()) title = option.get_name(true);
  if (option.get_type_size() != 0 && !option.get_option_text().empty())
    title += " " + option.get_option_text();
  return title;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  const std::vector<std::string> paragraphs = Paragraphs(app->get_description());
  std::string out;
  for (std::size_t i = 0; i < paragraphs.size(); ++i) {
    if (i == 0)
      out += "Usage: " + paragraphs[i] + "\n";
    else
      out += "\n" + Wrap(paragraphs[i], 0, 0);
  }
  const auto commands =
      app->get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  if (!commands.empty()) out += "\nCommands:\n";
  for (const CLI::App* command : commands) {
    std::string title = command->get_name();
    for (const std::string& alias : command->get_aliases()) title += ", " + alias;
    const std::vector<std::string> about = Paragraphs(command->get_description());
    out += Entry(title, about.size() > 1 ? about[1] : "");
  }
  for (const std::string& group : app->get_groups()) {
    if (group.empty()) continue;
    const auto options = app->get_options([&](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
    if (options.empty()) continue;
    out += "\n" + group + ":\n";
    for (const CLI::Option* option : options)
      out += Entry(OptionTitle(*option), option->get_description());
  }
  if (!app->get_footer().empty()) out += "\n" + app->get_footer() + "\n";
  return out;
}

}  // namespace profd::client
