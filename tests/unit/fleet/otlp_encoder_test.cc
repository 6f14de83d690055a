#include "daemon/fleet/targets/otlp_encoder.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemon/fleet/targets/otlp_splitter.h"
#include "daemon/process/wait_reason.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kNoLimit = 1u << 30;

ExportProfile Exported() {
  return MakeExportProfile(store::MakeWindow(0), What::kWall, *Relabelling::Make({}), nullptr);
}

otlp::ExportProfilesServiceRequest Parsed(const std::string& bytes) {
  otlp::ExportProfilesServiceRequest request;
  EXPECT_TRUE(request.ParseFromString(bytes));
  return request;
}

// Checks every index of one request, and sums its values by service, state and leaf function.
class Reading {
 public:
  using Sums = std::map<std::string, std::uint64_t>;

  explicit Reading(const otlp::ExportProfilesServiceRequest& request)
      : request_(request), dictionary_(request.dictionary()) {
    CheckTables();
    for (const auto& resource : request.resource_profiles()) Read(resource);
  }

  Sums sums;
  std::set<std::string> ids;
  std::map<std::string, std::int64_t> notes;  // attributes of profiles

 private:
  static void Expect(int index, int size, const char* what) {
    EXPECT_TRUE(index >= 0 && index < size) << what << " " << index << " of " << size;
  }
  void ExpectText(int index) const { Expect(index, dictionary_.string_table_size(), "text"); }
  std::string Text(int index) const {
    ExpectText(index);
    return dictionary_.string_table(index);
  }
  void CheckAttributes(const google::protobuf::RepeatedField<std::int32_t>& indices) const {
    for (const int index : indices) {
      Expect(index, dictionary_.attribute_table_size(), "attribute");
      EXPECT_NE(index, 0);
    }
  }

  void CheckTables() const {
    ASSERT_GT(dictionary_.string_table_size(), 0);
    EXPECT_EQ(dictionary_.string_table(0), "");
    ASSERT_GT(dictionary_.stack_table_size(), 0);
    EXPECT_EQ(dictionary_.stack_table(0).ByteSizeLong(), 0u);
    ASSERT_GT(dictionary_.location_table_size(), 0);
    EXPECT_EQ(dictionary_.location_table(0).ByteSizeLong(), 0u);
    ASSERT_GT(dictionary_.function_table_size(), 0);
    EXPECT_EQ(dictionary_.function_table(0).ByteSizeLong(), 0u);
    ASSERT_GT(dictionary_.mapping_table_size(), 0);
    EXPECT_EQ(dictionary_.mapping_table(0).ByteSizeLong(), 0u);
    ASSERT_GT(dictionary_.attribute_table_size(), 0);
    EXPECT_EQ(dictionary_.attribute_table(0).ByteSizeLong(), 0u);
    ASSERT_EQ(dictionary_.link_table_size(), 1);
    for (const auto& stack : dictionary_.stack_table())
      for (const int location : stack.location_indices()) {
        Expect(location, dictionary_.location_table_size(), "location");
        EXPECT_NE(location, 0);
      }
    for (const auto& location : dictionary_.location_table()) {
      Expect(location.mapping_index(), dictionary_.mapping_table_size(), "mapping");
      for (const auto& line : location.lines()) {
        Expect(line.function_index(), dictionary_.function_table_size(), "function");
        EXPECT_NE(line.function_index(), 0);
      }
      CheckAttributes(location.attribute_indices());
    }
    for (const auto& function : dictionary_.function_table()) {
      ExpectText(function.name_strindex());
      ExpectText(function.system_name_strindex());
      ExpectText(function.filename_strindex());
    }
    for (const auto& mapping : dictionary_.mapping_table()) {
      ExpectText(mapping.filename_strindex());
      CheckAttributes(mapping.attribute_indices());
    }
    for (const auto& attribute : dictionary_.attribute_table()) {
      ExpectText(attribute.key_strindex());
      ExpectText(attribute.unit_strindex());
    }
    std::set<std::string> texts(dictionary_.string_table().begin(),
                                dictionary_.string_table().end());
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(dictionary_.string_table_size()));
  }

  void Read(const otlp::ResourceProfiles& resource) {
    std::string service;
    for (const auto& attribute : resource.resource().attributes()) {
      EXPECT_FALSE(attribute.key().starts_with("__"));
      if (attribute.key() == "service.name") service = attribute.value().string_value();
    }
    EXPECT_NE(service, "");
    ASSERT_EQ(resource.scope_profiles_size(), 1);
    EXPECT_EQ(resource.scope_profiles(0).scope().name(), "profd");
    for (const auto& profile : resource.scope_profiles(0).profiles()) {
      EXPECT_EQ(profile.profile_id().size(), 16u);
      EXPECT_TRUE(ids.insert(profile.profile_id()).second);
      EXPECT_EQ(Text(profile.sample_type().type_strindex()), "wall");
      EXPECT_EQ(Text(profile.sample_type().unit_strindex()), "nanoseconds");
      EXPECT_EQ(profile.time_unix_nano(), store::kStartUnixNs);
      EXPECT_EQ(profile.duration_nano(), 10 * store::kSecond);
      CheckAttributes(profile.attribute_indices());
      for (const int note : profile.attribute_indices()) {
        const auto& attribute = dictionary_.attribute_table(note);
        notes[Text(attribute.key_strindex())] += attribute.value().int_value();
      }
      for (const auto& sample : profile.samples()) Read(service, sample);
    }
  }

  void Read(const std::string& service, const otlp::Sample& sample) {
    Expect(sample.stack_index(), dictionary_.stack_table_size(), "stack");
    EXPECT_NE(sample.stack_index(), 0);
    Expect(sample.link_index(), dictionary_.link_table_size(), "link");
    CheckAttributes(sample.attribute_indices());
    ASSERT_EQ(sample.values_size(), 1);
    std::map<std::string, std::string> attributes;
    for (const int index : sample.attribute_indices()) {
      const auto& attribute = dictionary_.attribute_table(index);
      attributes[Text(attribute.key_strindex())] = attribute.value().string_value();
    }
    const auto& stack = dictionary_.stack_table(sample.stack_index());
    ASSERT_GT(stack.location_indices_size(), 0);
    const auto& leaf = dictionary_.location_table(stack.location_indices(0));
    const std::string function =
        Text(dictionary_.function_table(leaf.lines(0).function_index()).name_strindex());
    EXPECT_TRUE(attributes.contains("thread.name"));
    sums[service + " " + attributes["profd.state"] + " " + attributes["profd.wait"] + " " +
         function] += static_cast<std::uint64_t>(sample.values(0));
  }

  const otlp::ExportProfilesServiceRequest& request_;
  const otlp::ProfilesDictionary& dictionary_;
};

// The same, from the rows.
Reading::Sums SumsOf(const ExportProfile& profile) {
  Reading::Sums sums;
  for (const ExportRow& row : profile.rows) {
    const std::string function = row.part == Part::kStolen ? "[stolen]"
                                 : row.node == 0
                                     ? "[no stack]"
                                     : profile.frames[profile.nodes[row.node].frame].name;
    sums[profile.label_sets[row.labels].at("service.name") + " " + std::string(NameOf(row.part)) +
         " " + std::string(process::kWaitReasons[static_cast<std::size_t>(row.wait)].name) + " " +
         function] += row.ns;
  }
  return sums;
}

TEST(OtlpEncoderTest, EveryIndexIsOfItsTableAndSumsAreThoseOfTheRows) {
  const ExportProfile profile = Exported();
  const OtlpParts parts = EncodeOtlp(profile, kNoLimit);
  ASSERT_EQ(parts.requests.size(), 1u);
  EXPECT_EQ(parts.too_large_ns, 0u);
  const auto request = Parsed(parts.requests[0]);
  const Reading reading(request);
  EXPECT_EQ(reading.sums, SumsOf(profile));
  EXPECT_EQ(static_cast<std::size_t>(request.resource_profiles_size()), profile.label_sets.size());
}

TEST(OtlpEncoderTest, WhatIsTooLargeIsSplitAndSumsStay) {
  ExportProfile profile = Exported();
  profile.gaps = {{"spool_full", 5}};
  const std::size_t whole = EncodeOtlp(profile, kNoLimit).requests[0].size();
  for (const std::size_t limit : {whole, whole / 2, whole / 10}) {
    const OtlpParts parts = EncodeOtlp(profile, limit);
    Reading::Sums sums;
    std::set<std::string> ids;
    std::map<std::string, std::int64_t> notes;
    std::size_t profiles = 0;
    for (const std::string& bytes : parts.requests) {
      EXPECT_LE(bytes.size(), limit);
      const auto request = Parsed(bytes);
      const Reading reading(request);
      for (const auto& [key, ns] : reading.sums) sums[key] += ns;
      for (const auto& [name, count] : reading.notes) notes[name] += count;
      ids.insert(reading.ids.begin(), reading.ids.end());
      profiles += reading.ids.size();
    }
    EXPECT_EQ(sums, SumsOf(profile));
    EXPECT_EQ(parts.too_large_ns, 0u);
    EXPECT_EQ(ids.size(), profiles);
    EXPECT_EQ(notes.at("profd.gap.spool_full"), 5);  // once, though there are several
    EXPECT_EQ(notes.at("profd.lost.ring_full"), 1);
    EXPECT_EQ(parts.requests.size() == 1, limit == whole);
  }
}

TEST(OtlpEncoderTest, RowsThatAreTooLargeAloneAreCounted) {
  const ExportProfile profile = Exported();
  const OtlpParts parts = EncodeOtlp(profile, 10);
  EXPECT_TRUE(parts.requests.empty());
  EXPECT_EQ(parts.too_large_ns, TotalNs(profile));
}

TEST(OtlpEncoderTest, RequestsAreHalvedDownToOneSampleAndSumsStay) {
  ExportProfile profile = Exported();
  profile.gaps = {{"spool_full", 5}};
  std::vector<std::string> waiting = EncodeOtlp(profile, kNoLimit).requests;
  const std::size_t whole = waiting[0].size();
  Reading::Sums sums;
  std::set<std::string> ids;
  std::map<std::string, std::int64_t> notes;
  std::size_t requests = 0;
  while (!waiting.empty()) {
    const std::string bytes = waiting.back();
    waiting.pop_back();
    const auto halves = SplitOtlp(bytes);
    EXPECT_EQ(SplitOtlp(bytes), halves);
    for (const std::string& half : halves)
      EXPECT_LT(half.size(), bytes.size() == whole ? whole * 3 / 4 : bytes.size());
    waiting.insert(waiting.end(), halves.begin(), halves.end());
    if (!halves.empty()) continue;
    const auto request = Parsed(bytes);
    const Reading reading(request);
    for (const auto& [key, ns] : reading.sums) sums[key] += ns;
    for (const auto& [name, count] : reading.notes) notes[name] += count;
    ids.insert(reading.ids.begin(), reading.ids.end());
    ++requests;
  }
  EXPECT_EQ(sums, SumsOf(profile));
  EXPECT_EQ(ids.size(), requests);
  EXPECT_EQ(notes.at("profd.gap.spool_full"), 5);
  EXPECT_EQ(notes.at("profd.lost.ring_full"), 1);
}

TEST(OtlpEncoderTest, DamagedRequestsAreNotSplit) {
  EXPECT_TRUE(SplitOtlp("\xff\xff").empty());
  EXPECT_TRUE(SplitOtlp("").empty());
  auto request = Parsed(EncodeOtlp(Exported(), kNoLimit).requests[0]);
  for (const int wrong : {-1, 1'000'000}) {
    auto damaged = request;
    damaged.mutable_resource_profiles(0)
        ->mutable_scope_profiles(0)
        ->mutable_profiles(0)
        ->mutable_samples(0)
        ->set_stack_index(wrong);
    EXPECT_TRUE(SplitOtlp(damaged.SerializeAsString()).empty());
    damaged = request;
    damaged.mutable_dictionary()->mutable_function_table(1)->set_name_strindex(wrong);
    EXPECT_TRUE(SplitOtlp(damaged.SerializeAsString()).empty());
  }
}

TEST(OtlpEncoderTest, TheSameProfileHasTheSameBytes) {
  EXPECT_EQ(EncodeOtlp(Exported(), kNoLimit).requests, EncodeOtlp(Exported(), kNoLimit).requests);
}

}  // namespace
}  // namespace profd::fleet
