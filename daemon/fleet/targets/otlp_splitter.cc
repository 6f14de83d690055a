#include "daemon/fleet/targets/otlp_splitter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "daemon/aggregate/stable_hash.h"
#include "daemon/fleet/targets/otlp.pb.h"

namespace profd::fleet {
namespace {

// What one table has given to another.
using Moved = std::unordered_map<std::int32_t, std::int32_t>;

// Copies what samples need from one dictionary to another. Thread: one. Indexes may be wrong: the
// bytes were on a disk.
class Dictionary {
 public:
  explicit Dictionary(const otlp::ProfilesDictionary& from) : from_(from) {
    // Entry 0 of each table stands for nothing.
    to_.add_string_table("");
    to_.add_mapping_table();
    to_.add_location_table();
    to_.add_function_table();
    to_.add_link_table();
    to_.add_attribute_table();
    to_.add_stack_table();
  }

  [[nodiscard]] bool wrong() const { return wrong_; }
  otlp::ProfilesDictionary Take() && { return std::move(to_); }

  std::int32_t String(std::int32_t index) {
    return Move(index, from_.string_table(), *to_.mutable_string_table(), strings_,
                [](const std::string& text) { return text; });
  }

  std::int32_t Attribute(std::int32_t index) {
    return Move(index, from_.attribute_table(), *to_.mutable_attribute_table(), attributes_,
                [this](otlp::KeyValueAndUnit one) {
                  one.set_key_strindex(String(one.key_strindex()));
                  one.set_unit_strindex(String(one.unit_strindex()));
                  return one;
                });
  }

  std::int32_t Stack(std::int32_t index) {
    return Move(index, from_.stack_table(), *to_.mutable_stack_table(), stacks_,
                [this](otlp::Stack one) {
                  for (std::int32_t& at : *one.mutable_location_indices()) at = Location(at);
                  return one;
                });
  }

 private:
  template <typename Table, typename Fix>
  std::int32_t Move(std::int32_t index, const Table& from, Table& to, Moved& moved, Fix fix) {
    if (index == 0) return 0;
    if (index < 0 || index >= from.size()) return wrong_ = true, 0;
    if (const auto known = moved.find(index); known != moved.end()) return known->second;
    auto one = fix(from[index]);  // may add to other tables
    const std::int32_t number = to.size();
    *to.Add() = std::move(one);
    return moved[index] = number;
  }

  std::int32_t Location(std::int32_t index) {
    return Move(index, from_.location_table(), *to_.mutable_location_table(), locations_,
                [this](otlp::Location one) {
                  one.set_mapping_index(Mapping(one.mapping_index()));
                  for (otlp::Line& line : *one.mutable_lines())
                    line.set_function_index(Function(line.function_index()));
                  for (std::int32_t& at : *one.mutable_attribute_indices()) at = Attribute(at);
                  return one;
                });
  }

  std::int32_t Mapping(std::int32_t index) {
    return Move(index, from_.mapping_table(), *to_.mutable_mapping_table(), mappings_,
                [this](otlp::Mapping one) {
                  one.set_filename_strindex(String(one.filename_strindex()));
                  for (std::int32_t& at : *one.mutable_attribute_indices()) at = Attribute(at);
                  return one;
                });
  }

  std::int32_t Function(std::int32_t index) {
    return Move(index, from_.function_table(), *to_.mutable_function_table(), functions_,
                [this](otlp::Function one) {
                  one.set_name_strindex(String(one.name_strindex()));
                  one.set_system_name_strindex(String(one.system_name_strindex()));
                  one.set_filename_strindex(String(one.filename_strindex()));
                  return one;
                });
  }

  const otlp::ProfilesDictionary& from_;
  otlp::ProfilesDictionary to_;
  bool wrong_ = false;
  Moved strings_;
  Moved attributes_;
  Moved stacks_;
  Moved locations_;
  Moved mappings_;
  Moved functions_;
};

// Builds one half: samples from `begin` to `end`, counted over all profiles.
class Half {
 public:
  Half(const otlp::ExportProfilesServiceRequest& whole, std::size_t begin, std::size_t end)
      : whole_(whole), begin_(begin), end_(end), dictionary_(whole.dictionary()) {}

  // Empty: an index is wrong.
  std::string Make() && {
    for (const auto& resource : whole_.resource_profiles())
      for (const auto& scope : resource.scope_profiles())
        for (const auto& profile : scope.profiles()) AddProfile(resource, scope, profile);
    if (dictionary_.wrong()) return {};
    *out_.mutable_dictionary() = std::move(dictionary_).Take();
    return out_.SerializeAsString();
  }

 private:
  void AddProfile(const otlp::ResourceProfiles& resource, const otlp::ScopeProfiles& scope,
                  const otlp::Profile& profile) {
    const std::size_t first = seen_;
    seen_ += static_cast<std::size_t>(profile.samples_size());
    const std::size_t begin = std::max(begin_, first);
    const std::size_t end = std::min(end_, seen_);
    if (begin >= end) return;
    otlp::ResourceProfiles& to = *out_.add_resource_profiles();
    *to.mutable_resource() = resource.resource();
    otlp::ScopeProfiles& to_scope = *to.add_scope_profiles();
    *to_scope.mutable_scope() = scope.scope();
    otlp::Profile& made = *to_scope.add_profiles();
    made.set_time_unix_nano(profile.time_unix_nano());
    made.set_duration_nano(profile.duration_nano());
    made.set_period(profile.period());
    *made.mutable_sample_type() = Type(profile.sample_type());
    *made.mutable_period_type() = Type(profile.period_type());
    const Hash128 id = StableHash(profile.profile_id(), begin - first, end - first);
    made.set_profile_id(id.data(), id.size());
    if (begin == first)
      for (const std::int32_t at : profile.attribute_indices())
        made.add_attribute_indices(dictionary_.Attribute(at));
    for (std::size_t i = begin; i < end; ++i) {
      otlp::Sample& sample = *made.add_samples();
      sample = profile.samples(static_cast<int>(i - first));
      sample.set_stack_index(dictionary_.Stack(sample.stack_index()));
      for (std::int32_t& at : *sample.mutable_attribute_indices()) at = dictionary_.Attribute(at);
    }
  }

  otlp::ValueType Type(const otlp::ValueType& type) {
    otlp::ValueType made;
    made.set_type_strindex(dictionary_.String(type.type_strindex()));
    made.set_unit_strindex(dictionary_.String(type.unit_strindex()));
    return made;
  }

  const otlp::ExportProfilesServiceRequest& whole_;
  const std::size_t begin_;
  const std::size_t end_;
  std::size_t seen_ = 0;
  Dictionary dictionary_;
  otlp::ExportProfilesServiceRequest out_;
};

}  // namespace

std::vector<std::string> SplitOtlp(const std::string& request) {
  otlp::ExportProfilesServiceRequest whole;
  if (!whole.ParseFromString(request)) return {};
  std::size_t samples = 0;
  for (const auto& resource : whole.resource_profiles())
    for (const auto& scope : resource.scope_profiles())
      for (const auto& profile : scope.profiles())
        samples += static_cast<std::size_t>(profile.samples_size());
  if (samples < 2) return {};
  std::vector<std::string> halves{Half(whole, 0, samples / 2).Make(),
                                  Half(whole, samples / 2, samples).Make()};
  if (halves[0].empty() || halves[1].empty()) return {};
  return halves;
}

}  // namespace profd::fleet
