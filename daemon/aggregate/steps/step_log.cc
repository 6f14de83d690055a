#include "daemon/aggregate/steps/step_log.h"

#include <utility>

namespace profd::aggregate {
namespace {

constexpr const char* kOther = "[other]";
constexpr const char* kNotReadable = "[not readable]";

}  // namespace

void StepLog::AddSource(const wire::StepSourceEvent& event) {
  if (event.source >= PROFD_MAX_STEP_SOURCES) return;
  if (steps_.sources.size() <= event.source) steps_.sources.resize(event.source + 1);
  StepSource& source = steps_.sources[event.source];
  source.text = event.text;
  source.names = source.names || event.names;
  source.ends = source.ends || event.ends;
  if (!event.refused.empty()) source.refused = event.refused;
}

std::uint32_t StepLog::NameIndex(std::string name) {
  if (steps_.names.empty()) name_index_.emplace(steps_.names.emplace_back(), 0);
  if (const auto known = name_index_.find(name); known != name_index_.end()) return known->second;
  if (steps_.names.size() >= kMaxNames && name != kOther) return NameIndex(kOther);
  const auto index = static_cast<std::uint32_t>(steps_.names.size());
  steps_.names.push_back(name);
  name_index_.emplace(std::move(name), index);
  return index;
}

void StepLog::Add(const wire::StepEvent& event, std::uint32_t thread) {
  if (steps_.events.size() >= kMaxEvents || event.source >= PROFD_MAX_STEP_SOURCES) {
    ++dropped_;
    return;
  }
  // What it is may come a moment later than its first event.
  if (steps_.sources.size() <= event.source) steps_.sources.resize(event.source + 1);
  std::string name = event.name_missing ? kNotReadable : event.name;
  if (event.name_cut) name += "...";
  steps_.events.push_back({.time_ns = event.header.time_ns,
                           .thread = thread,
                           .source = event.source,
                           .name = NameIndex(std::move(name)),
                           .object = event.object,
                           .end = event.end});
}

}  // namespace profd::aggregate
