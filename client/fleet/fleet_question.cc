#include "client/fleet/fleet_question.h"

#include <algorithm>

namespace profd::client {
namespace {

// Adds parameters and the texts that refer to them.
class Parameters {
 public:
  explicit Parameters(FleetCondition& condition) : condition_(condition) {}

  std::string Text(std::string_view value) { return Add(ParameterText(value), "String"); }
  std::string Number(std::uint64_t value) { return Add(std::to_string(value), "UInt32"); }

 private:
  std::string Add(std::string value, std::string_view type) {
    const std::string name = "p" + std::to_string(condition_.parameters.size());
    condition_.parameters.emplace("param_" + name, std::move(value));
    return "{" + name + ":" + std::string(type) + "}";
  }

  FleetCondition& condition_;
};

std::string AnyOf(std::string_view column, const std::vector<std::string>& globs,
                  Parameters& parameters) {
  std::string sql;
  for (const std::string& glob : globs) {
    const bool plain = glob.find_first_of("*?") == std::string::npos;
    sql += (sql.empty() ? "" : " OR ") + std::string(column) + (plain ? " = " : " LIKE ") +
           parameters.Text(plain ? glob : LikePattern(glob));
  }
  return "(" + sql + ")";
}

}  // namespace

const FleetKeyEntry& EntryOf(FleetKey key) { return kFleetKeys[static_cast<std::size_t>(key)]; }

std::optional<FleetKey> FleetKeyNamed(std::string_view name) {
  const auto* found = std::ranges::find(kFleetKeys, name, &FleetKeyEntry::name);
  if (found == kFleetKeys.end()) return std::nullopt;
  return found->key;
}

std::string FleetKeyNames() {
  std::string names;
  for (const FleetKeyEntry& entry : kFleetKeys)
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

std::string FleetQuestion::Words() const {
  std::string words = service.empty() ? "all services" : service;
  const auto say = [&](std::string_view what, const std::vector<std::string>& values) {
    for (const std::string& value : values) words += ", " + std::string(what) + " " + value;
  };
  for (const auto& [key, values] : fits) say(EntryOf(key).name, values);
  say("thread", threads);
  for (const auto& [name, values] : labels) say("label " + name, values);
  if (!state.empty()) words += ", " + state;
  if (!wait.empty()) words += ", blocked for " + wait;
  return words;
}

FleetCondition ConditionOf(const FleetQuestion& question, FleetTable table) {
  FleetCondition condition;
  Parameters parameters(condition);
  std::string& sql = condition.sql;
  sql = "time >= toDateTime(" + parameters.Number(question.from_s) + ") AND time < toDateTime(" +
        parameters.Number(question.to_s) + ")";
  if (!question.service.empty()) sql += " AND service = " + parameters.Text(question.service);
  const bool sample = table == FleetTable::kSample;
  for (const auto& [key, globs] : question.fits)
    if (!globs.empty() && (sample || EntryOf(key).of_clock))
      sql += " AND " + AnyOf(EntryOf(key).name, globs, parameters);
  if (sample && !question.threads.empty())
    sql += " AND " + AnyOf("thread", question.threads, parameters);
  if (sample)
    for (const auto& [name, globs] : question.labels)
      sql += " AND " + AnyOf("labels[" + parameters.Text(name) + "]", globs, parameters);
  if (question.state == "running")
    sql += " AND state IN ('running', 'spinning', 'stolen')";
  else if (!question.state.empty())
    sql += " AND state = " + parameters.Text(question.state);
  if (!question.wait.empty())
    sql += " AND state = 'blocked' AND wait = " + parameters.Text(question.wait);
  return condition;
}

bool FitsClock(const FleetQuestion& question) {
  return question.threads.empty() && question.labels.empty() &&
         std::ranges::all_of(
             question.fits,
             [](const auto& fit) { return fit.second.empty() || EntryOf(fit.first).of_clock; }) &&
         std::ranges::all_of(question.apart, [](FleetKey key) { return EntryOf(key).of_clock; });
}

std::string LikePattern(std::string_view glob) {
  std::string pattern;
  for (const char c : glob) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c == '*' ? '%' : c == '?' ? '_' : c;
  }
  return pattern;
}

std::string ParameterText(std::string_view value) {
  std::string text;
  for (const char c : value) {
    switch (c) {
      case '\\':
        text += "\\\\";
        break;
      case '\t':
        text += "\\t";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\0':
        text += "\\0";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace profd::client
