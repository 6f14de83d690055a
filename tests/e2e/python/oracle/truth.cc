#include "tests/e2e/python/oracle/truth.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace profd::oracle {
namespace {

using Json = nlohmann::json;

template <typename T>
T Get(const Json& entry, const char* name, T otherwise = {}) {
  const auto found = entry.find(name);
  return found == entry.end() || found->is_null() ? otherwise : found->get<T>();
}

Frame ReadFrame(const Json& row) {
  Frame frame;
  frame.name = row[0];
  frame.file = row[1];
  frame.line = row[2];
  frame.first_line = row[3];
  frame.last_line = row[4];
  frame.function_line = row[5];
  return frame;
}

Window ReadWindow(const Json& entry) {
  Window window;
  window.number = entry["case"];
  window.pid = entry["pid"];
  window.tid = entry["tid"];
  window.comm = Get<std::string>(entry, "comm");
  window.begin_ns = entry["begin"];
  window.end_ns = entry["end"];
  window.minor = entry["version"][1];
  for (const Json& row : entry["frames"]) window.frames.push_back(ReadFrame(row));
  window.prefix = Get<Chain>(entry, "prefix");
  window.chains = Get<std::vector<Chain>>(entry, "chains");
  window.interrupts = Get<std::vector<Chain>>(entry, "interrupts");
  window.call_line = Get<std::uint32_t>(entry, "call");
  window.hold = Get<bool>(entry, "hold");
  window.loose = Get<bool>(entry, "loose");
  window.gaps = Get<bool>(entry, "gaps");
  window.native_only = Get<bool>(entry, "native_only");
  window.apart = Get<bool>(entry, "apart");
  window.alone = Get<bool>(entry, "alone");
  window.known_by = Get<std::uint32_t>(entry, "known_by");
  window.known_in = Get<std::string>(entry, "known_in");
  window.before = Get<Names>(entry, "before");
  window.after = Get<Names>(entry, "after");
  window.through = Get<std::map<std::string, std::string>>(entry, "through");
  window.waits = Get<Names>(entry, "waits");
  window.needs = Get<std::vector<std::string>>(entry, "needs");
  for (const Json& row : Get<Json>(entry, "churn", Json::array()))
    window.churn.push_back({row[0], row[1], row[2]});
  return window;
}

}  // namespace

Result<Truth> ReadTruth(const std::string& path) {
  Truth truth;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object()) return Error{ErrorCode::kCorrupt, "not JSON: " + line, path};
    if (entry.contains("skipped"))
      truth.skipped[entry["case"]] = entry["skipped"];
    else if (entry.contains("error"))
      truth.errors[entry["case"]] = entry["error"];
    else
      truth.windows.push_back(ReadWindow(entry));
  }
  return truth;
}

}  // namespace profd::oracle
