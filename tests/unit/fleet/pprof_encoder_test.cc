#include "daemon/fleet/targets/pprof_encoder.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemon/fleet/targets/files_target.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

using ::testing::Contains;

ExportProfile Exported(What what = What::kWall) {
  return MakeExportProfile(store::MakeWindow(0), what, *Relabelling::Make({}), nullptr);
}

std::string Text(const pprof::Profile& profile, std::int64_t index) {
  return profile.string_table(static_cast<int>(index));
}

std::map<std::string, std::string> LabelsOfSample(const pprof::Profile& profile,
                                                  const pprof::Sample& sample) {
  std::map<std::string, std::string> labels;
  for (const auto& label : sample.label())
    labels[Text(profile, label.key())] = Text(profile, label.str());
  return labels;
}

TEST(PprofEncoderTest, TypesAddUpByState) {
  const ExportProfile profile = Exported();
  const auto encoded = EncodePprof(profile);
  std::vector<std::string> types;
  for (const auto& type : encoded.sample_type())
    types.push_back(Text(encoded, type.type()) + "/" + Text(encoded, type.unit()));
  EXPECT_EQ(types, (std::vector<std::string>{"samples/count", "wall/nanoseconds", "cpu/nanoseconds",
                                             "off_cpu/nanoseconds"}));
  EXPECT_EQ(Text(encoded, encoded.default_sample_type()), "wall");
  std::uint64_t wall = 0;
  for (const auto& sample : encoded.sample()) {
    ASSERT_EQ(sample.value_size(), 4);
    const std::string state = LabelsOfSample(encoded, sample).at("state");
    const bool cpu = state == "running" || state == "spinning";
    const bool off = state == "runnable" || state == "blocked";
    EXPECT_EQ(sample.value(2), cpu ? sample.value(1) : 0);
    EXPECT_EQ(sample.value(3), off ? sample.value(1) : 0);
    wall += static_cast<std::uint64_t>(sample.value(1));
  }
  EXPECT_EQ(wall, TotalNs(profile));
}

TEST(PprofEncoderTest, EveryIndexAndNumberIsOneOfTheFile) {
  const auto encoded = EncodePprof(Exported());
  const auto is_text = [&](std::int64_t index) {
    return index >= 0 && index < encoded.string_table_size();
  };
  ASSERT_GT(encoded.string_table_size(), 0);
  EXPECT_EQ(encoded.string_table(0), "");
  std::set<std::uint64_t> mappings{0};
  for (const auto& mapping : encoded.mapping()) {
    EXPECT_TRUE(mappings.insert(mapping.id()).second);
    EXPECT_TRUE(is_text(mapping.filename()) && is_text(mapping.build_id()));
    EXPECT_LT(mapping.memory_start(), mapping.memory_limit());
  }
  std::set<std::uint64_t> functions;
  for (const auto& function : encoded.function()) {
    EXPECT_TRUE(functions.insert(function.id()).second);
    EXPECT_NE(function.id(), 0u);
    EXPECT_TRUE(is_text(function.name()) && is_text(function.system_name()) &&
                is_text(function.filename()));
  }
  std::set<std::uint64_t> locations;
  for (const auto& location : encoded.location()) {
    EXPECT_TRUE(locations.insert(location.id()).second);
    EXPECT_NE(location.id(), 0u);
    EXPECT_TRUE(mappings.contains(location.mapping_id()));
    EXPECT_GT(location.line_size(), 0);
    for (const auto& line : location.line()) EXPECT_TRUE(functions.contains(line.function_id()));
  }
  for (const auto& sample : encoded.sample()) {
    EXPECT_GT(sample.location_id_size(), 0);
    for (const auto id : sample.location_id()) EXPECT_TRUE(locations.contains(id));
    for (const auto& label : sample.label())
      EXPECT_TRUE(label.key() > 0 && is_text(label.key()) && is_text(label.str()));
  }
}

TEST(PprofEncoderTest, LabelsAreThoseOfTheProcessThreadAndState) {
  const ExportProfile profile = Exported();
  const auto encoded = EncodePprof(profile);
  std::uint64_t stolen = 0;
  bool waits = false;
  for (const auto& sample : encoded.sample()) {
    const auto labels = LabelsOfSample(encoded, sample);
    EXPECT_EQ(labels.at("host.name"), "testhost");
    EXPECT_TRUE(labels.contains("service.name") && labels.contains("thread"));
    EXPECT_FALSE(labels.contains("__process.pid"));
    waits = waits || (labels.at("state") == "blocked" && labels.contains("wait"));
    if (labels.at("state") != "stolen") continue;
    stolen += static_cast<std::uint64_t>(sample.value(1));
    const auto& location = encoded.location(static_cast<int>(sample.location_id(0)) - 1);
    EXPECT_EQ(Text(encoded,
                   encoded.function(static_cast<int>(location.line(0).function_id()) - 1).name()),
              "[stolen]");
  }
  std::uint64_t expected = 0;
  for (const ExportRow& row : profile.rows) expected += row.part == Part::kStolen ? row.ns : 0;
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(stolen, expected);
  EXPECT_TRUE(waits);
}

TEST(PprofEncoderTest, OnCpuHasNoOtherTypes) {
  const ExportProfile profile = Exported(What::kOnCpu);
  const auto encoded = EncodePprof(profile);
  ASSERT_EQ(encoded.sample_type_size(), 2);
  EXPECT_EQ(Text(encoded, encoded.sample_type(1).type()), "cpu");
  std::uint64_t sum = 0;
  for (const auto& sample : encoded.sample()) sum += static_cast<std::uint64_t>(sample.value(1));
  EXPECT_EQ(sum, TotalNs(profile));
}

TEST(PprofEncoderTest, CommentsHaveGapsAndLosses) {
  ExportProfile profile = Exported();
  profile.gaps = {{"spool_full", 90'000'000'000}};
  const auto encoded = EncodePprof(profile);
  std::vector<std::string> comments;
  for (const auto index : encoded.comment()) comments.push_back(Text(encoded, index));
  EXPECT_THAT(comments, Contains("gap before this profile: 90s, spool_full"));
  EXPECT_THAT(comments, Contains("lost: ring_full 1"));
}

TEST(FilesTargetTest, WritesWholeFilesThatReadBack) {
  const test::TempFolder folder;
  ExportSettings settings;
  settings.address = folder.Path("out/deep");
  FilesTarget target(settings, "web/1");
  const ExportProfile profile = Exported();
  const auto encoded = target.Encode(profile);
  ASSERT_TRUE(encoded);
  ASSERT_EQ(encoded->payloads.size(), 1u);
  const SpoolEntry entry{.from_unix_ns = store::kStartUnixNs, .payload = encoded->payloads[0]};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(target.Send(entry, 7).kind, Verdict::Kind::kSent);
  const std::string name = "out/deep/web_1-20231114T221400Z-7.pb.gz";
  const std::string bytes = folder.Read(name);
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream gzip(&in);
  pprof::Profile read;
  ASSERT_TRUE(read.ParseFromZeroCopyStream(&gzip));
  EXPECT_EQ(read.SerializeAsString(), EncodePprof(profile).SerializeAsString());
}

TEST(FilesTargetTest, AFolderThatIsMissingIsATryLater) {
  const test::TempFolder folder;
  ExportSettings settings;
  settings.address = folder.Write("file", "") + "/out";
  settings.compression = Compression::kNone;
  FilesTarget target(settings, "");
  const Verdict verdict = target.Send({.payload = "x"}, 1);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kLater);
  EXPECT_NE(verdict.message, "");
}

TEST(FilesTargetTest, NamesOfHostsAreSafe) {
  EXPECT_EQ(FileNamePart("web-1.example.org"), "web-1.example.org");
  EXPECT_EQ(FileNamePart("../../etc"), "_._.._etc");
  EXPECT_EQ(FileNamePart(""), "_");
  EXPECT_EQ(FileNamePart(std::string(100, 'a')).size(), 64u);
}

}  // namespace
}  // namespace profd::fleet
