#include "daemon/aggregate/labels/label_sets.h"

#include <cstring>
#include <map>
#include <string_view>

#include "daemon/process/label_record.h"

namespace profd::aggregate {

std::uint32_t LabelSets::ProgramOf(const ProcessKey& process, const process::LabelKeysRef& keys) {
  auto& programs = of_process_[process];
  for (const std::uint32_t program : programs) {
    if (programs_[program]->image_ns != keys->image_ns) continue;
    programs_[program] = keys;
    return program;
  }
  programs_.push_back(keys);
  programs.push_back(static_cast<std::uint32_t>(programs_.size() - 1));
  return programs.back();
}

std::uint32_t LabelSets::Intern(const process::Sample& sample) {
  if (sample.labels.empty() || !sample.label_keys) return 0;
  const std::uint32_t program = ProgramOf(sample.process, sample.label_keys);
  std::string key(reinterpret_cast<const char*>(&program), sizeof program);
  key += sample.labels;
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  if (sets_.size() >= kMaxSets || record_bytes_ + key.size() > kMaxBytes) {
    ++refused_;
    return 0;
  }
  record_bytes_ += key.size();
  const auto number = static_cast<std::uint32_t>(sets_.size() + 1);
  sets_.push_back(&numbers_.emplace(std::move(key), number).first->first);
  return number;
}

void LabelSets::Update(const ProcessKey& process, const process::LabelKeysRef& keys) {
  if (keys && of_process_.contains(process)) (void)ProgramOf(process, keys);
}

void LabelSets::SetPart(std::size_t part, std::uint32_t labels) {
  if (labels == 0) return;
  of_part_.resize(part + 1);
  of_part_.back() = labels;
}

Labels LabelSets::Resolve(std::uint32_t labels) const {
  const std::string_view set = *sets_.at(labels - 1);
  std::uint32_t program = 0;
  std::memcpy(&program, set.data(), sizeof program);
  const auto& names = programs_[program]->names;
  const auto record = process::ParseLabelRecord(set.substr(sizeof program));
  std::map<std::string, std::string> resolved;
  if (!record.trace_id.empty()) resolved["trace_id"] = record.trace_id;
  if (!record.span_id.empty()) resolved["span_id"] = record.span_id;
  for (const auto& [number, value] : record.attributes) {
    const bool named = number < names.size() && !names[number].empty();
    resolved[named ? names[number] : kUnknownName + std::to_string(number)] = value;
  }
  return {resolved.begin(), resolved.end()};
}

std::size_t LabelSets::bytes() const {
  constexpr std::size_t kSetBytes = 96;  // with its node and text
  return record_bytes_ + sets_.size() * kSetBytes + of_part_.capacity() * sizeof(std::uint32_t);
}

}  // namespace profd::aggregate
