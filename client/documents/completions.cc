#include "client/documents/completions.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::client {
namespace {

using Commands = std::span<const Command* const>;

std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string Join(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

// "collect", "record"; "" for profctl itself.
std::vector<std::string> WordsFor(const Command& command) {
  std::vector<std::string> words{command.name};
  if (!command.alias.empty()) words.push_back(command.alias);
  return words;
}

std::vector<std::string> WordsFor(Commands commands) {
  std::vector<std::string> words;
  for (const Command* command : commands)
    std::ranges::move(WordsFor(*command), std::back_inserter(words));
  return words;
}

bool HasFiles(const Command& command) {
  return std::ranges::any_of(command.options, [](const Option& option) {
    return option.IsArgument() && option.offer == Offer::kFiles;
  });
}

std::string LongNames(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options)
    for (std::string& name : NamesOf(option))
      if (name.starts_with("--")) names.push_back(std::move(name));
  return Join(names, " ");
}

// The help without what follows its first semicolon, and without the list of its values.
std::string ShortHelp(const Option& option) {
  std::string help = option.help;
  if (const std::string list = ": " + OneOf(option.words); help.ends_with(list))
    help.resize(help.size() - list.size());
  return help.substr(0, help.find(';'));
}

std::string Replace(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// --- bash

// What bash does for the value of an option. "": the option is a flag.
std::string BashAction(const Option& option) {
  if (!option.TakesValue()) return "";
  const auto words = [](const std::string& list) {
    return "COMPREPLY=($(compgen -W \"" + list + "\" -- \"$current\")); return";
  };
  if (!option.words.empty()) return words(Join(option.words, " "));
  switch (option.offer) {
    case Offer::kFiles:
      return "compopt -o default; return";
    case Offer::kFolders:
      return "compopt -o dirnames; return";
    case Offer::kPids:
      return words("$(cd /proc && echo [0-9]*)");
    case Offer::kPrograms:
      return words("$(cat /proc/[0-9]*/comm 2> /dev/null)");
    case Offer::kNothing:
      break;
  }
  return "return";
}

// A line for each action, with the options that have it. An option that all commands understand in
// the same way stands for itself; others stand behind their command.
std::string BashValues(const std::vector<const Command*>& all) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> commands_of;
  for (const Command* command : all)
    for (const Option& option : command->options)
      for (const std::string& name : NamesOf(option))
        std::ranges::move(WordsFor(*command),
                          std::back_inserter(commands_of[name][BashAction(option)]));
  std::map<std::string, std::vector<std::string>> patterns;  // by action
  for (const auto& [name, actions] : commands_of)
    for (const auto& [action, commands] : actions) {
      if (action.empty()) continue;
      if (actions.size() == 1)
        patterns[action].push_back("*\" " + name + "\"");
      else
        for (const std::string& command : commands)
          patterns[action].push_back(Concat({"\"", command, " ", name, "\""}));
    }
  std::string text;
  for (const auto& [action, names] : patterns)
    text += Concat({Join(names, "|"), ") ", action, " ;;\n"});
  return text;
}

// --- fish and zsh

std::string Quoted(const std::string& text, std::string_view quote) {
  return "'" + Replace(text, "'", quote) + "'";
}

std::string FishAction(const Option& option) {
  if (!option.TakesValue()) return "";
  if (!option.words.empty()) return " -x -a '" + Join(option.words, " ") + "'";
  switch (option.offer) {
    case Offer::kFiles:
      return " -r -F";
    case Offer::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Offer::kPids:
      return " -x -a '(__fish_complete_pids)'";
    case Offer::kPrograms:
    case Offer::kNothing:
      break;
  }
  return " -x";
}

std::string FishOption(const Option& option) {
  std::string text;
  for (const std::string& name : NamesOf(option))
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return text + FishAction(option) + " -d " + Quoted(ShortHelp(option), "\\'");
}

std::string ZshAction(const Option& option) {
  if (!option.TakesValue()) return "";
  if (!option.words.empty()) return ":value:(" + Join(option.words, " ") + ")";
  switch (option.offer) {
    case Offer::kFiles:
      return ":file:_files";
    case Offer::kFolders:
      return ":directory:_directories";
    case Offer::kPids:
      return ":process:_pids";
    case Offer::kPrograms:
    case Offer::kNothing:
      break;
  }
  return ":value: ";
}

// As an argument of _arguments, in single quotes.
std::string ZshOption(const Option& option) {
  std::string help = ShortHelp(option);
  for (const char* c : {"\\", "[", "]", ":"}) help = Replace(help, c, std::string("\\") + c);
  const std::string what = Quoted("[" + help + "]" + ZshAction(option), "'\\''");
  const std::vector<std::string> names = NamesOf(option);
  const std::string before = option.IsRepeated() ? "'*'"
                             : names.size() == 1 ? ""
                                                 : "'(" + Join(names, " ") + ")'";
  return before + (names.size() == 1 ? names[0] : "{" + Join(names, ",") + "}") + what;
}

std::string ZshOptions(const Command& command, std::string_view indent) {
  std::string text;
  for (const Option& option : command.options)
    if (!option.IsArgument()) text += std::string(indent) + ZshOption(option) + "\n";
  // Arguments of all commands are json files.
  if (HasFiles(command)) text += std::string(indent) + "'*:file:_files -g \"*.json\"'\n";
  if (command.behind != nullptr) text += std::string(indent) + "'*:::command:_normal'\n";
  return text;
}

}  // namespace

Parts BashParts(const Command& root, Commands commands) {
  std::vector<const Command*> all{&root};
  all.insert(all.end(), commands.begin(), commands.end());
  std::string options;
  for (const Command* command : all) {
    const bool is_root = command == &root;
    options += is_root ? "\"\"" : Join(WordsFor(*command), "|");
    options += ") words=\"" + (is_root ? "$commands " : std::string()) + LongNames(*command) + "\"";
    options += HasFiles(*command) ? "; files=1 ;;\n" : " ;;\n";
  }
  return {{"COMMANDS", "local commands=\"" + Join(WordsFor(commands), " ") + "\"\n"},
          {"VALUES", BashValues(all)},
          {"OPTIONS", options}};
}

Parts FishParts(const Command& root, Commands commands) {
  const std::string all = Join(WordsFor(commands), " ");
  std::string offered;
  for (const Command* command : commands)
    for (const std::string& word : WordsFor(*command))
      offered += Concat({"complete -c profctl -n \"not __fish_seen_subcommand_from ", all, "\" -a ",
                         word, " -d ", Quoted(command->summary, "\\'"), "\n"});
  // What several commands have in common is one line.
  std::vector<std::pair<std::string, std::vector<const Command*>>> lines;
  const auto add = [&](const std::string& line, const Command* command) {
    const auto known = std::ranges::find(lines, line, &decltype(lines)::value_type::first);
    if (known == lines.end())
      lines.push_back({line, {command}});
    else
      known->second.push_back(command);
  };
  for (const Option& option : root.options) add(FishOption(option), &root);
  for (const Command* command : commands) {
    for (const Option& option : command->options)
      if (!option.IsArgument()) add(FishOption(option), command);
    if (HasFiles(*command)) add(" -F", command);
  }
  std::string options;
  for (const auto& [line, users] : lines) {
    std::string condition;
    if (users.size() == 1 && users.front() == &root)
      condition = " -n \"not __fish_seen_subcommand_from " + all + "\"";
    else if (users.size() <= commands.size())
      condition = " -n \"__fish_seen_subcommand_from " + Join(WordsFor(users), " ") + "\"";
    options += Concat({"complete -c profctl", condition, line, "\n"});
  }
  return {{"COMMANDS", offered}, {"OPTIONS", options}};
}

Parts ZshParts(const Command& root, Commands commands) {
  std::string described;
  std::string options;
  for (const Command* command : commands) {
    for (const std::string& word : WordsFor(*command))
      described += Quoted(word + ":" + Replace(command->summary, ":", "\\:"), "'\\''") + "\n";
    options +=
        Join(WordsFor(*command), "|") + ") options=(\n" + ZshOptions(*command, "  ") + ") ;;\n";
  }
  return {{"ROOT", ZshOptions(root, "")}, {"COMMANDS", described}, {"OPTIONS", options}};
}

}  // namespace profd::client
