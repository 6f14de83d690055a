#include "daemon/config/settings_text.h"

#include <functional>
#include <string_view>

#include "daemon/config/settings.h"

namespace profd::config {
namespace {

// "history.max_age" -> "history", "max_age".
std::pair<std::string_view, std::string_view> Split(std::string_view key) {
  const auto dot = key.rfind('.');
  if (dot == std::string_view::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

bool Quoted(const Setting& setting) {
  return !std::holds_alternative<bool Options::*>(setting.field) &&
         !std::holds_alternative<std::uint64_t Options::*>(setting.field) &&
         !std::holds_alternative<double Options::*>(setting.field);
}

std::string Toml(const Setting& setting, std::string_view text) {
  if (!Quoted(setting)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Keys of no table first: TOML has no way back to them.
void ForEachByTable(const std::function<void(std::string_view table)>& begin,
                    const std::function<void(const Setting&)>& each) {
  std::vector<std::string_view> tables = {""};
  for (const auto& setting : Settings()) {
    const auto table = Split(setting.key).first;
    bool known = false;
    for (const auto other : tables) known = known || other == table;
    if (!known) tables.push_back(table);
  }
  for (const auto table : tables) {
    begin(table);
    for (const auto& setting : Settings())
      if (Split(setting.key).first == table) each(setting);
  }
}

std::string Sentence(std::string_view help) {
  std::string text(help);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z' && !text.starts_with("gRPC"))
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-') escaped += '\\';
    escaped += c == '\\' ? std::string("\\e") : std::string(1, c);
  }
  return escaped;
}

}  // namespace

std::string DefaultConfig() {
  std::string text =
      "# Configuration of profd; profd.toml(5). Each key stands here with its default.\n"
      "# A flag wins over the environment (PROFD_LOG_LEVEL), that over this file.\n"
      "# After a change: profd --check-config && systemctl reload profd\n";
  ForEachByTable(
      [&](std::string_view table) {
        if (!table.empty()) text += "\n[" + std::string(table) + "]\n";
      },
      [&](const Setting& setting) {
        text += "\n# " + Sentence(setting.help) + " " + Sentence(Expected(setting)) + "\n#" +
                std::string(Split(setting.key).second) + " = " + Toml(setting, setting.fallback) +
                "\n";
      });
  return text;
}

std::string ManualOfKeys() {
  std::string text;
  ForEachByTable(
      [&](std::string_view table) {
        if (!table.empty()) text += ".SS [" + std::string(table) + "]\n";
      },
      [&](const Setting& setting) {
        text += ".TP\n.B " + std::string(Split(setting.key).second) + " = " +
                Roff(Toml(setting, setting.fallback)) + "\n" + Roff(Sentence(setting.help)) + "\n" +
                Roff(Sentence(Expected(setting))) + "\n";
        if (setting.live) text += "Changed at once by a reload.\n";
        text += "Flag\n.BR " + Roff(FlagName(setting)) + " ,\nenvironment\n.BR " +
                EnvironmentName(setting) + " .\n";
      });
  return text;
}

std::string ManualOfFlags() {
  std::string text;
  for (const auto& setting : Settings()) {
    const auto flag = FlagName(setting);
    text += ".TP\n";
    if (!std::holds_alternative<bool Options::*>(setting.field))
      text += ".BR " + Roff(flag) + " \" \\fI" + std::string(setting.value) + "\\fR\"\n";
    else if (setting.fallback == "true")
      text += ".B " + Roff("--no-" + flag.substr(2)) + "\nNo ";
    else
      text += ".B " + Roff(flag) + "\n";
    const bool negated = text.ends_with("No ");
    text += Roff(negated ? std::string(setting.help) + "." : Sentence(setting.help)) + "\n";
    if (!setting.choices.empty()) text += Roff(Sentence(Expected(setting))) + "\n";
  }
  return text;
}

std::string EffectiveConfig(const std::vector<Assignment>& values, const Options& options) {
  std::string text;
  ForEachByTable(
      [&](std::string_view table) {
        if (!table.empty()) text += "\n[" + std::string(table) + "]\n";
      },
      [&](const Setting& setting) {
        std::string place;
        for (const auto& value : values)
          if (value.setting == &setting) place = value.place;
        text += std::string(Split(setting.key).second) + " = " +
                Toml(setting, ValueText(setting, options)) + "  # " + place + "\n";
      });
  return text;
}

}  // namespace profd::config
