#include "daemon/config/config_file.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "daemon/base/toml/toml_file.h"
#include "daemon/config/exports.h"
#include "daemon/config/settings.h"

namespace profd::config {
namespace {

constexpr TomlKind kKind{.hint = "see profd.toml(5)", .question = "is it profd's configuration?"};

// Walks the parsed tree; keeps the valid values, and a message for each problem.
class Reading {
 public:
  explicit Reading(const std::string& path) : problems_(path) {}

  void Take(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (key == "export") {
        file_.exports = ReadExports(node, problems_);
        continue;
      }
      if (const auto* inner = node.as_table(); inner != nullptr && !FindSetting(key))
        Take(*inner, key + ".");
      else
        TakeValue(key, node);
    }
  }
  Result<ConfigFile> Finish() && {
    if (problems_.empty()) return std::move(file_);
    return problems_.ToError(kKind);
  }

 private:
  void TakeValue(const std::string& key, const toml::node& node) {
    const Setting* setting = FindSetting(key);
    if (setting == nullptr) {
      const auto near = NearestKey(key);
      problems_.Add(node, "unknown key '" + key + "'" +
                              (near.empty() ? "" : "; did you mean '" + near + "'?"));
      return;
    }
    if (!KindFits(*setting, node)) {
      problems_.Add(node, key + " is " + KindOf(node) + "; it must be " + Expected(*setting));
      return;
    }
    auto text = TextOf(node);
    Options scratch;
    if (const auto good = SetValue(*setting, text, scratch); !good)
      problems_.Add(node, key + " " + good.error().message);
    else
      file_.values.push_back({setting, std::move(text), problems_.PlaceOf(node)});
  }

  static bool KindFits(const Setting& setting, const toml::node& node) {
    if (std::holds_alternative<bool Options::*>(setting.field)) return node.is_boolean();
    if (std::holds_alternative<std::string Options::*>(setting.field)) return node.is_string();
    if (std::holds_alternative<std::uint64_t Options::*>(setting.field)) return node.is_integer();
    if (std::holds_alternative<double Options::*>(setting.field)) return node.is_number();
    return node.is_string() || node.is_number();
  }

  static std::string KindOf(const toml::node& node) {
    if (node.is_table()) return "a table";
    if (node.is_array()) return "a list";
    if (node.is_string()) return "the string \"" + TextOf(node) + "\"";
    if (node.is_boolean() || node.is_number()) return TextOf(node);
    return "a date";
  }

  static std::string TextOf(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
    if (const auto* value = node.as_integer()) return std::to_string(value->get());
    std::ostringstream number;
    if (const auto* value = node.as_floating_point()) number << value->get();
    return number.str();
  }

  TomlProblems problems_;
  ConfigFile file_;
};

std::string_view TableOf(const Setting& setting) {
  const auto dot = setting.key.rfind('.');
  return dot == std::string_view::npos ? "" : setting.key.substr(0, dot);
}

}  // namespace

Result<ConfigFile> ParseConfig(std::string_view text, const std::string& path) {
  const auto table = ParseToml(text, path, kKind);
  if (!table) return table.error();
  Reading reading(path);
  reading.Take(*table, "");
  return std::move(reading).Finish();
}

Result<ConfigFile> ReadConfigFile(const std::string& path) {
  const auto text = ReadTomlText(path, kKind);
  if (!text) return text.error();
  return ParseConfig(*text, path);
}

std::vector<ConfigTable> ConfigTables() {
  std::vector<ConfigTable> tables = {{}};
  for (const auto& setting : Settings()) {
    const auto name = TableOf(setting);
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const ConfigTable& known) { return known.name == name; });
    if (table == tables.end()) table = tables.insert(table, {name, {}});
    table->settings.push_back(&setting);
  }
  return tables;
}

std::string_view KeyInTable(const Setting& setting) {
  return setting.key.substr(setting.key.rfind('.') + 1);
}

std::string TomlValue(const Setting& setting, std::string_view text) {
  if (std::holds_alternative<bool Options::*>(setting.field) ||
      std::holds_alternative<std::uint64_t Options::*>(setting.field) ||
      std::holds_alternative<double Options::*>(setting.field))
    return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string EffectiveConfig(const std::vector<Assignment>& values, const Options& options) {
  std::string text;
  for (const auto& table : ConfigTables()) {
    if (!table.name.empty()) text += "\n[" + std::string(table.name) + "]\n";
    for (const Setting* setting : table.settings) {
      std::string place;
      for (const auto& value : values)
        if (value.setting == setting) place = value.place;
      text += std::string(KeyInTable(*setting)) + " = " +
              TomlValue(*setting, ValueText(*setting, options)) + "  # " + place + "\n";
    }
  }
  for (const fleet::ExportSettings& one : options.exports) text += ExportToml(one);
  return text;
}

}  // namespace profd::config
