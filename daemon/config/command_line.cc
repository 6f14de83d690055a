#include "daemon/config/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>
#include <vector>

#include "daemon/config/config_file.h"
#include "daemon/config/settings.h"

namespace profd::config {
namespace {

constexpr const char* kFooter =
    R"(Each setting is also a key of the configuration file and a variable PROFD_NAME
of the environment. A flag wins over the environment, the environment over the file.

Examples:
  profd                                       serve at unix:///run/profd/profd.sock
  profd --listen unix:/tmp/p.sock             serve at another socket
  profd --check-config                        check /etc/profd/profd.toml
  profd --record run.profd                    keep all events, to replay them elsewhere
  profd --replay run.profd                    serve a recording; needs no rights

Exit codes: 0 ok, 1 failure, 2 usage, 5 permission denied.)";

// The flags, parsed before the environment and the file are read.
struct Flags {
  Options options;  // only the fields that no setting has
  std::string config_file;
  bool check_config = false;
  bool print_config = false;
  std::vector<Assignment> values;
};

std::string TypeOf(const Setting& setting) {
  if (setting.choices.empty()) return std::string(setting.value);
  std::string text = "{";
  for (const auto choice : setting.choices) {
    if (choice != setting.choices.front()) text += '|';
    text += choice;
  }
  return text + "}";
}

void AddSetting(CLI::App& app, const Setting& setting, Flags& flags) {
  const std::string name = FlagName(setting);
  const std::string help(setting.help);
  if (std::holds_alternative<bool Options::*>(setting.field)) {
    const std::string no = "--no-" + name.substr(2);
    const auto add = [&flags, &setting](const std::string& flag, const char* value) {
      return [&flags, &setting, flag, value] { flags.values.push_back({&setting, value, flag}); };
    };
    const bool on = setting.fallback == "true";
    auto* yes = app.add_flag_callback(name, add(name, "true"), help);
    auto* not_so = app.add_flag_callback(no, add(no, "false"), "no " + help);
    // Help shows only the flag that changes the default.
    (on ? yes : not_so)->group("");
    (on ? not_so : yes)->group("Settings");
    yes->excludes(not_so)->option_text(" ");
    not_so->option_text(" ");
    return;
  }
  app.add_option_function<std::string>(
         name,
         [&flags, &setting, name](const std::string& value) {
           flags.values.push_back({&setting, value, name});
         },
         help)
      ->type_name(TypeOf(setting))
      ->default_str(std::string(setting.fallback))
      ->group("Settings");
}

void AddFlags(CLI::App& app, Flags& flags) {
  app.footer(kFooter);
  app.set_version_flag("--version", "profd " PROFD_VERSION);
  app.add_option("--config", flags.config_file, "configuration instead of /etc/profd/profd.toml")
      ->type_name("FILE");
  app.add_flag("--check-config", flags.check_config, "check all settings, and exit");
  app.add_flag("--print-config", flags.print_config,
               "print the effective settings and where each comes from, and exit");
  auto* record =
      app.add_option("--record", flags.options.record_file, "write all events to a recording");
  record->type_name("FILE");
  app.add_option("--replay", flags.options.replay_file, "serve a recording instead of this host")
      ->type_name("FILE")
      ->excludes(record);
  app.add_flag("--private", flags.options.private_use,
               "print 'ready' when serving; exit when standard input ends");
  for (const auto& setting : Settings()) AddSetting(app, setting, flags);
}

std::vector<Assignment> FromEnvironment(const Environment& environment) {
  std::vector<Assignment> values;
  // Only known names: other programs set variables with this prefix, too. Kubernetes does for a
  // service called profd.
  for (const auto& setting : Settings()) {
    const std::string name = EnvironmentName(setting);
    if (const char* value = environment.environment(name.c_str()))
      values.push_back({&setting, value, name});
  }
  return values;
}

Result<ConfigFile> FromFile(Flags& flags, const Environment& environment) {
  bool named = !flags.config_file.empty();
  if (!named) {
    const char* variable = environment.environment("PROFD_CONFIG");
    named = variable != nullptr && *variable != '\0';
    if (named) flags.config_file = variable;
  }
  if (!named && flags.options.private_use) return ConfigFile();
  if (!named) flags.config_file = environment.default_config;
  auto file = ReadConfigFile(flags.config_file);
  if (file || named || file.error().code != ErrorCode::kNotFound) return file;
  flags.config_file.clear();
  return ConfigFile();
}

// Later values win. A wrong value that loses is still an error.
Result<void> Apply(const std::vector<Assignment>& values, Options& options) {
  std::string problems;
  std::string hint = "see profd --help";
  for (const auto& value : values) {
    const auto set = SetValue(*value.setting, value.text, options);
    if (set) continue;
    if (!problems.empty()) problems += '\n';
    problems += value.place + " " + set.error().message;
    if (!set.error().hint.empty()) hint = set.error().hint;
  }
  if (problems.empty()) return {};
  return Error{ErrorCode::kInvalidArgument, problems, hint};
}

}  // namespace

Environment SystemEnvironment() {
  return {[](const char* name) -> const char* { return std::getenv(name); }, kConfigFile};
}

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                     const Environment& environment) {
  Flags flags;
  CommandLine line;
  CLI::App app{"The host agent of profd: an always-on on/off-CPU profiler."};
  AddFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    return line;
  } catch (const CLI::CallForVersion&) {
    line.text = "profd " PROFD_VERSION "\n";
    return line;
  } catch (const CLI::ParseError& error) {
    return Error{ErrorCode::kInvalidArgument, error.what(), "see profd --help"};
  }
  line.options = flags.options;
  auto file = FromFile(flags, environment);
  if (!file) return file.error();
  line.config_file = flags.config_file;
  line.options.exports = std::move(file->exports);

  std::vector<Assignment> values;
  for (const auto& setting : Settings())
    values.push_back({&setting, std::string(setting.fallback), "default"});
  if (flags.options.private_use) values.push_back({FindSetting("log_level"), "warn", "--private"});
  for (auto& layer : {std::move(file->values), FromEnvironment(environment), flags.values})
    values.insert(values.end(), layer.begin(), layer.end());
  PROFD_TRY(Apply(values, line.options));
  PROFD_TRY(CheckTogether(line.options));
  auto rules = rules::RuleSet::Load(line.options.rules_file);
  if (!rules) return rules.error();
  line.rules = *std::move(rules);
  if (flags.check_config)
    line.text = (line.config_file.empty() ? "no configuration file: all settings are defaults"
                                          : line.config_file + " is valid") +
                "\n";
  if (flags.print_config) line.text = EffectiveConfig(values, line.options);
  return line;
}

}  // namespace profd::config
