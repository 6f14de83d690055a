// settings_documents: writes the files for users that list all settings. It is a build tool, not
// part of profd: the build runs it, installs what it writes, and so these files always match the
// table.
//
//   settings_documents toml                  prints profd.toml: every key, commented, with its
//   default settings_documents man PAGE              prints PAGE with the lists of settings filled
//   in
//
// In a manual page the line `.\" @KEYS@` stands for the keys of profd.toml, `.\" @FLAGS@` for
// flags.
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config_file.h"
#include "daemon/config/exports.h"
#include "daemon/config/settings.h"

namespace profd::config {
namespace {

std::string Sentence(std::string_view help) {
  std::string text(help);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

// Escapes what roff would take for a hyphen or for a command of its own.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-') escaped += '\\';
    escaped += c == '\\' ? std::string("\\e") : std::string(1, c);
  }
  return escaped;
}

void WriteToml(std::ostream& out) {
  out << "# Configuration of profd, see profd.toml(5). Every key is listed with its default.\n"
         "# A flag wins over the environment (PROFD_LOG_LEVEL), the environment over this file.\n"
         "# After a change: profd --check-config && systemctl reload profd\n";
  for (const auto& table : ConfigTables()) {
    if (!table.name.empty()) out << "\n[" << table.name << "]\n";
    for (const Setting* setting : table.settings)
      out << "\n# " << Sentence(setting->help) << " " << Sentence(Expected(*setting)) << "\n#"
          << KeyInTable(*setting) << " = " << TomlValue(*setting, setting->fallback) << "\n";
  }
  out << "\n# Windows of the history for a receiver; one [[export]] for each.\n# [[export]]\n";
  for (const ExportKey& key : ExportKeys())
    if (key.value != std::string_view("[]"))
      out << "# " << key.name << " = " << key.value << "  # " << Sentence(key.help) << "\n";
  out << "# [[export.relabel]]  # Rules, as those of Prometheus.\n";
  for (const ExportKey& key : RelabelKeys())
    out << "# " << key.name << " = " << key.value << "  # " << Sentence(key.help) << "\n";
}

void WriteKeys(std::ostream& out, const char* table, const std::vector<ExportKey>& keys) {
  out << ".SS " << table << "\n";
  for (const ExportKey& key : keys) {
    out << ".TP\n.B " << key.name;
    if (key.value != std::string_view("[]")) out << " = " << Roff(key.value);
    out << "\n" << Roff(Sentence(key.help)) << "\n";
  }
}

void WriteKeys(std::ostream& out) {
  for (const auto& table : ConfigTables()) {
    if (!table.name.empty()) out << ".SS [" << table.name << "]\n";
    for (const Setting* setting : table.settings) {
      out << ".TP\n.B " << KeyInTable(*setting) << " = "
          << Roff(TomlValue(*setting, setting->fallback)) << "\n"
          << Roff(Sentence(setting->help)) << "\n"
          << Roff(Sentence(Expected(*setting))) << "\n";
      if (setting->live) out << "A reload changes it at once.\n";
      out << "Flag\n.BR " << Roff(FlagName(*setting)) << " ,\nenvironment\n.BR "
          << EnvironmentName(*setting) << " .\n";
    }
  }
  WriteKeys(out, "[[export]]", ExportKeys());
  WriteKeys(out, "[[export.relabel]]", RelabelKeys());
}

void WriteFlags(std::ostream& out) {
  for (const auto& setting : Settings()) {
    const auto flag = FlagName(setting);
    const bool is_switch = std::holds_alternative<bool Options::*>(setting.field);
    const bool negated = is_switch && setting.fallback == "true";
    out << ".TP\n";
    if (negated)  // the flag that changes something
      out << ".B " << Roff("--no-" + flag.substr(2)) << "\nNo " << Roff(setting.help) << ".\n";
    else if (is_switch)
      out << ".B " << Roff(flag) << "\n" << Roff(Sentence(setting.help)) << "\n";
    else
      out << ".BR " << Roff(flag) << " \" \\fI" << setting.value << "\\fR\"\n"
          << Roff(Sentence(setting.help)) << "\n";
    if (!setting.choices.empty()) out << Roff(Sentence(Expected(setting))) << "\n";
  }
}

// False: the page cannot be read, or has no list to fill in.
bool WriteManual(const std::string& path, std::ostream& out) {
  std::ifstream page(path);
  bool filled = false;
  for (std::string line; std::getline(page, line);) {
    const bool keys = line == ".\\\" @KEYS@";
    const bool flags = line == ".\\\" @FLAGS@";
    filled = filled || keys || flags;
    if (keys)
      WriteKeys(out);
    else if (flags)
      WriteFlags(out);
    else
      out << line << "\n";
  }
  return filled;
}

int Main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "toml" && argc == 2) {
    WriteToml(std::cout);
  } else if (kind != "man" || argc != 3 || !WriteManual(argv[2], std::cout)) {
    std::cerr << "usage: settings_documents toml | man PAGE (with a line @KEYS@ or @FLAGS@)\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}

}  // namespace
}  // namespace profd::config

int main(int argc, char** argv) { return profd::config::Main(argc, argv); }
