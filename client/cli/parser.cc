#include "client/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "client/cli/suggestions.h"
#include "client/cli/values.h"

namespace profd::client {
namespace {

void AddTo(CLI::App& app, const Option& option) {
  if (std::holds_alternative<std::monostate>(option.into)) {
    app.set_help_flag(option.names);
  } else if (const auto* flag = std::get_if<bool*>(&option.into)) {
    if (*flag == nullptr)
      app.add_flag(option.names);
    else
      app.add_flag(option.names, **flag);
  } else if (const auto* text = std::get_if<std::string*>(&option.into)) {
    if (option.implied.empty())
      app.add_option(option.names, **text);
    else
      app.add_flag(option.names + "{" + option.implied + "}", **text);
  } else if (const auto* texts = std::get_if<std::vector<std::string>*>(&option.into)) {
    app.add_option(option.names, **texts)->allow_extra_args(option.IsArgument());
  }
}

void AddOptions(CLI::App& app, const Command& command) {
  for (const Option& option : command.options) AddTo(app, option);
  app.allow_extras();
}

std::string HelpOf(const Command* command) {
  return command == nullptr ? "see profctl --help" : "see profctl " + command->name + " --help";
}

std::vector<std::string> OptionNames(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options)
    std::ranges::move(NamesOf(option), std::back_inserter(names));
  return names;
}

// For the first argument that no command and no option takes.
Error Unknown(const Command& root, std::span<const Command* const> commands, const Command* command,
              const std::string& argument) {
  if (argument.starts_with('-')) {
    const std::string name = argument.substr(0, argument.find('=', 2));
    const std::string message = "unknown option " + name;
    if (const std::string_view foreign = ForeignOption(name); !foreign.empty())
      return Usage(message, std::string(foreign));
    const std::string meant = ClosestOf(name, OptionNames(command == nullptr ? root : *command));
    return Usage(message, meant.empty() ? HelpOf(command) : "did you mean " + meant + "?");
  }
  if (command == nullptr) {
    std::vector<std::string> words;
    for (const Command* one : commands) {
      words.push_back(one->name);
      if (!one->alias.empty()) words.push_back(one->alias);
    }
    const std::string meant = ClosestOf(argument, words);
    return Usage("unknown command " + argument,
                 meant.empty() ? HelpOf(nullptr) : "did you mean profctl " + meant + "?");
  }
  if (command->behind != nullptr)
    return Usage("unexpected argument " + argument,
                 "to profile a command put -- before it; a process is named with -p PID");
  return Usage("unexpected argument " + argument, HelpOf(command));
}

Error FromCli(const CLI::ParseError& error, const Command* command) {
  // "--pid: 1 required TEXT missing" and "--mode: At Most 1 required but received 2".
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (error.get_name() != "ArgumentMismatch") return Usage(text, HelpOf(command));
  const bool twice = text.find("received") != std::string::npos;
  return Usage(option + (twice ? " is given more than once" : " needs a value"), HelpOf(command));
}

const Command* Parsed(const CLI::App& app, std::span<const Command* const> commands) {
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return nullptr;
  const auto found = std::ranges::find(commands, parsed.front()->get_name(), &Command::name);
  return found == commands.end() ? nullptr : *found;
}

// "--fleet clickhouse://HOST" -> "--fleet=clickhouse://HOST".
void JoinValues(std::span<const Command* const> commands, std::vector<std::string>& arguments) {
  const auto named = [&](const std::string& argument) {
    return std::ranges::find_if(commands, [&](const Command* one) {
      return argument == one->name || (!one->alias.empty() && argument == one->alias);
    });
  };
  const auto first = std::ranges::find_if(
      arguments, [&](const std::string& argument) { return named(argument) != commands.end(); });
  if (first == arguments.end()) return;
  const Command& command = **named(*first);
  for (const Option& option : command.options) {
    if (option.joined.empty()) continue;
    const auto at = std::ranges::find(arguments, option.names);
    if (at == arguments.end() || std::next(at) == arguments.end() ||
        std::next(at)->find(option.joined) == std::string::npos)
      continue;
    *at += "=" + *std::next(at);
    arguments.erase(std::next(at));
  }
}

Result<void> TakeBehind(std::span<const Command* const> commands, const Command* command,
                        std::vector<std::string> behind) {
  if (command == nullptr || command->behind == nullptr) {
    std::vector<std::string> takers;
    for (const Command* one : commands)
      if (one->behind != nullptr) takers.push_back(one->name);
    return Usage("only " + OneOf(takers) + " takes a command behind --", HelpOf(command));
  }
  if (behind.empty())
    return Usage("no command behind --", "as in profctl " + command->name + " -- ls -l");
  *command->behind = std::move(behind);
  return {};
}

}  // namespace

Result<ParsedArguments> ParseArguments(const Command& root,
                                       std::span<const Command* const> commands,
                                       std::vector<std::string> arguments) {
  // Everything behind the first "--" is the command's, whatever it looks like.
  const auto dashes = std::ranges::find(arguments, "--");
  const bool has_dashes = dashes != arguments.end();
  std::vector<std::string> behind;
  if (has_dashes) behind.assign(std::next(dashes), arguments.end());
  arguments.erase(dashes, arguments.end());
  // "profctl help collect" is what one tries first.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  JoinValues(commands, arguments);
  CLI::App app("", "profctl");
  app.require_subcommand(0, 1);
  AddOptions(app, root);
  for (const Command* command : commands) {
    CLI::App& sub = *app.add_subcommand(command->name);
    if (!command->alias.empty()) sub.alias(command->alias);
    AddOptions(sub, *command);
  }
  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return ParsedArguments{Parsed(app, commands), true};
  } catch (const CLI::ParseError& error) {
    return FromCli(error, Parsed(app, commands));
  }
  const Command* command = Parsed(app, commands);
  if (const auto unknown = app.remaining(true); !unknown.empty())
    return Unknown(root, commands, command, unknown.front());
  if (has_dashes) PROFD_TRY(TakeBehind(commands, command, std::move(behind)));
  return ParsedArguments{command, false};
}

}  // namespace profd::client
