// Requests of Pyroscope and Parca: every index, every limit, and sums under all splits.
#include "daemon/fleet/series/series_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemon/fleet/series/parca_target.h"
#include "daemon/fleet/series/pprof_splitter.h"
#include "daemon/fleet/series/push.pb.h"
#include "daemon/fleet/series/pyroscope_target.h"
#include "daemon/process/wait_reason.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

using ::testing::Contains;
using Sums = std::map<std::string, std::uint64_t>;

ExportProfile Exported(What what = What::kWall) {
  return MakeExportProfile(store::MakeWindow(0), what, *Relabelling::Make({}), nullptr);
}

// Checks every index of one pprof, and sums it by what a person sees.
class Reading {
 public:
  explicit Reading(const std::string& bytes) {
    auto read = ReadPprof(bytes);
    EXPECT_TRUE(read);
    if (read) profile = *std::move(read);
    std::set<std::uint64_t> mappings{0};
    for (const auto& mapping : profile.mapping()) {
      EXPECT_TRUE(mapping.id() != 0 && mappings.insert(mapping.id()).second);
      (void)Text(mapping.filename());
      (void)Text(mapping.build_id());
    }
    for (const auto& function : profile.function()) {
      EXPECT_TRUE(function.id() != 0 &&
                  functions_.emplace(function.id(), Text(function.name())).second);
      (void)Text(function.system_name());
      (void)Text(function.filename());
    }
    for (const auto& location : profile.location()) {
      EXPECT_TRUE(location.id() != 0 && locations_.emplace(location.id(), &location).second);
      EXPECT_TRUE(mappings.contains(location.mapping_id()));
      EXPECT_GT(location.line_size(), 0);
      for (const auto& line : location.line()) EXPECT_TRUE(functions_.contains(line.function_id()));
    }
    EXPECT_EQ(profile.string_table(0), "");
    for (const auto index : profile.comment()) comments.push_back(Text(index));
    for (const auto& type : profile.sample_type()) types.push_back(Text(type.type()));
  }

  [[nodiscard]] std::string Text(std::int64_t index) const {
    EXPECT_TRUE(index >= 0 && index < profile.string_table_size());
    return profile.string_table(static_cast<int>(index));
  }
  [[nodiscard]] std::string FunctionAt(const pprof::Sample& sample, int at) const {
    const auto found = locations_.find(sample.location_id(at));
    EXPECT_NE(found, locations_.end());
    return found == locations_.end() ? "" : functions_.at(found->second->line(0).function_id());
  }
  [[nodiscard]] std::string Label(const pprof::Sample& sample, const std::string& name) const {
    for (const auto& label : sample.label())
      if (Text(label.key()) == name) return Text(label.str());
    return "";
  }

  pprof::Profile profile;
  std::vector<std::string> comments;
  std::vector<std::string> types;

 private:
  std::map<std::uint64_t, std::string> functions_;
  std::map<std::uint64_t, const pprof::Location*> locations_;
};

std::string Root(const ExportRow& row) {
  std::string text = "[" + std::string(NameOf(row.part));
  const auto wait = process::kWaitReasons[static_cast<std::size_t>(row.wait)].name;
  if (!wait.empty()) text += ":" + std::string(wait);
  return text + "]";
}

// By service, root and leaf, as the rows have it.
Sums SumsOf(const ExportProfile& profile) {
  Sums sums;
  for (const ExportRow& row : profile.rows) {
    const std::string leaf = row.part == Part::kStolen ? "[stolen]"
                             : row.node == 0           ? "[no stack]"
                                             : profile.frames[profile.nodes[row.node].frame].name;
    sums[profile.label_sets[row.labels].at("service.name") + " " + Root(row) + " " + leaf] +=
        row.ns;
  }
  return sums;
}

struct Pushed {
  Sums sums;
  std::set<std::string> ids;
  std::size_t profiles = 0;
  std::vector<std::string> comments;
};

void ReadPyroscope(const std::string& payload, Pushed& pushed, std::size_t most_samples = 16'000) {
  push::PyroscopeRequest request;
  ASSERT_TRUE(request.ParseFromString(payload));
  for (const auto& series : request.series()) {
    Labels labels;
    for (const auto& label : series.labels())
      EXPECT_TRUE(labels.emplace(label.name(), label.value()).second);
    EXPECT_EQ(labels.at("__name__"), "process_cpu");
    EXPECT_FALSE(labels.contains("host_name"));
    ASSERT_EQ(series.samples_size(), 1);
    EXPECT_TRUE(pushed.ids.insert(series.samples(0).id()).second);
    EXPECT_THAT(series.samples(0).id(),
                ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                        "[0-9a-f]{12}"));
    ++pushed.profiles;
    const Reading reading(series.samples(0).raw_profile());
    EXPECT_EQ(reading.types, (std::vector<std::string>{"wall", "cpu", "off_cpu"}));
    EXPECT_LE(static_cast<std::size_t>(reading.profile.sample_size()), most_samples);
    pushed.comments.insert(pushed.comments.end(), reading.comments.begin(), reading.comments.end());
    for (const auto& sample : reading.profile.sample()) {
      EXPECT_EQ(sample.label_size(), 0);
      ASSERT_GT(sample.location_id_size(), 0);
      const std::string root = reading.FunctionAt(sample, sample.location_id_size() - 1);
      const bool cpu = root == "[running]" || root == "[spinning]";
      const bool off = root == "[runnable]" || root.starts_with("[blocked");
      EXPECT_EQ(sample.value(1), cpu ? sample.value(0) : 0) << root;
      EXPECT_EQ(sample.value(2), off ? sample.value(0) : 0) << root;
      EXPECT_TRUE(cpu || off || root == "[stolen]") << root;
      pushed.sums[labels.at("service_name") + " " + root + " " + reading.FunctionAt(sample, 0)] +=
          static_cast<std::uint64_t>(sample.value(0));
    }
  }
}

ExportSettings SettingsOf(std::size_t bytes, Compression compression = Compression::kGzip) {
  ExportSettings settings;
  settings.kind = TargetKind::kPyroscopeHttp;
  settings.request_bytes = bytes;
  settings.compression = compression;
  return settings;
}

TEST(SeriesEncoderTest, PyroscopeGetsEachServiceOnceAndStatesAsRoots) {
  const ExportProfile profile = Exported();
  for (const auto how : {Compression::kGzip, Compression::kNone}) {
    PyroscopeTarget target(SettingsOf(1u << 30, how));
    const auto encoded = target.Encode(profile);
    ASSERT_TRUE(encoded);
    ASSERT_EQ(encoded->payloads.size(), 1u);
    Pushed pushed;
    ReadPyroscope(encoded->payloads[0], pushed);
    EXPECT_EQ(pushed.sums, SumsOf(profile));
    std::set<std::string> services;
    for (const Labels& labels : profile.label_sets) services.insert(labels.at("service.name"));
    EXPECT_EQ(pushed.profiles, services.size());
    EXPECT_EQ(target.Encode(profile)->payloads, encoded->payloads);  // ids, too
  }
}

TEST(SeriesEncoderTest, PyroscopeRequestsKeepToTheLimitAndSumsStay) {
  ExportProfile profile = Exported();
  profile.gaps = {{"spool_full", 90'000'000'000}};
  const std::size_t whole =
      PyroscopeTarget(SettingsOf(1u << 30, Compression::kNone)).Encode(profile)->payloads[0].size();
  for (const std::size_t limit : {whole / 2, whole / 8}) {
    PyroscopeTarget target(SettingsOf(limit, Compression::kNone));
    const auto encoded = target.Encode(profile);
    ASSERT_TRUE(encoded);
    EXPECT_GT(encoded->payloads.size(), 1u);
    EXPECT_EQ(encoded->too_large_ns, 0u);
    Pushed pushed;
    for (const std::string& payload : encoded->payloads) {
      EXPECT_LE(payload.size(), limit);
      ReadPyroscope(payload, pushed);
    }
    EXPECT_EQ(pushed.sums, SumsOf(profile));
    EXPECT_EQ(pushed.ids.size(), pushed.profiles);
    EXPECT_EQ(std::ranges::count(pushed.comments, "gap before this profile: 90s, spool_full"), 1);
  }
  PyroscopeTarget tiny(SettingsOf(10));
  EXPECT_EQ(tiny.Encode(profile)->too_large_ns, TotalNs(profile));
}

TEST(SeriesEncoderTest, NoProfileHasMoreSamplesThanTheReceiverTakes) {
  const ExportProfile profile = Exported();
  const SeriesShape shape{.labels = [](const Labels&) { return Labels(); }, .most_samples = 7};
  const SeriesRequests made = EncodeSeries(profile, shape);
  ASSERT_EQ(made.requests.size(), 1u);
  std::uint64_t sum = 0;
  for (const SeriesProfile& one : made.requests[0]) {
    const Reading reading(one.pprof);
    EXPECT_LE(reading.profile.sample_size(), 7);
    for (const auto& sample : reading.profile.sample())
      sum += static_cast<std::uint64_t>(sample.value(1));
  }
  EXPECT_EQ(sum, TotalNs(profile));
}

// Rows of stacks that are all different, more than one profile may have.
ExportProfile Many(std::size_t rows) {
  ExportProfile profile{.start_unix_ns = store::kStartUnixNs, .duration_ns = 60'000'000'000};
  profile.label_sets = {{{"service.name", "cart"}}};
  profile.threads = {"main"};
  profile.nodes = {{}};
  profile.frames.reserve(rows);
  profile.nodes.reserve(rows + 1);
  profile.rows.reserve(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    profile.frames.push_back({.name = "f" + std::to_string(i), .module = "/bin/cart"});
    profile.nodes.push_back({0, i});
    profile.rows.push_back({.node = i + 1, .count = 1, .ns = 1'000 + i});
  }
  return profile;
}

TEST(SeriesEncoderTest, PyroscopeGetsSixteenThousandSamplesAtMost) {
  constexpr std::size_t kMost = 16'000;
  for (const std::size_t rows : {kMost, kMost + 1, 3 * kMost}) {
    const ExportProfile profile = Many(rows);
    PyroscopeTarget target(SettingsOf(1u << 30));
    const auto encoded = target.Encode(profile);
    ASSERT_TRUE(encoded);
    Pushed pushed;
    for (const std::string& payload : encoded->payloads) ReadPyroscope(payload, pushed, kMost);
    EXPECT_EQ(pushed.profiles == 1, rows == kMost) << rows;
    EXPECT_EQ(pushed.sums, SumsOf(profile));
    EXPECT_EQ(pushed.ids.size(), pushed.profiles);
  }
}

TEST(SeriesEncoderTest, PyroscopeGetsThirtyLabelsOfTwoKilobytesAtMost) {
  ExportProfile profile = Many(1);
  for (int i = 10; i < 50; ++i)
    profile.label_sets[0]["team." + std::to_string(i)] = std::string(5'000, 'x');
  ExportSettings settings = SettingsOf(1u << 30);
  settings.relabel = {{.action = RelabelAction::kLabelKeep, .regex = ".*"}};
  const auto labels = [&] {
    PyroscopeTarget target(settings);
    push::PyroscopeRequest request;
    EXPECT_TRUE(request.ParseFromString(target.Encode(profile)->payloads[0]));
    EXPECT_EQ(request.series_size(), 1);
    Labels found;
    for (const auto& label : request.series(0).labels()) found[label.name()] = label.value();
    for (const auto& [name, value] : found) EXPECT_LE(value.size(), 2'048u) << name;
    return found;
  };
  const Labels named = labels();
  EXPECT_LE(named.size(), 30u);
  EXPECT_EQ(named.at("service_name"), "cart");
  EXPECT_EQ(named.at("__name__"), "process_cpu");
  EXPECT_EQ(named.at("team_10").size(), 2'048u);
  profile.label_sets[0].erase("service.name");
  const Labels unnamed = labels();
  EXPECT_EQ(unnamed.size(), 30u);
  EXPECT_EQ(unnamed.at("service_name"), "unknown_service");
}

TEST(SeriesEncoderTest, PyroscopeRequestsAreHalvedDownToOneSample) {
  ExportProfile profile = Exported();
  profile.gaps = {{"spool_full", 90'000'000'000}};
  PyroscopeTarget target(SettingsOf(1u << 30));
  std::vector<std::string> waiting = target.Encode(profile)->payloads;
  Pushed pushed;
  while (!waiting.empty()) {
    const std::string payload = waiting.back();
    waiting.pop_back();
    const auto halves = target.Split(payload);
    EXPECT_EQ(target.Split(payload), halves);
    waiting.insert(waiting.end(), halves.begin(), halves.end());
    if (halves.empty()) ReadPyroscope(payload, pushed, 1);
  }
  EXPECT_EQ(pushed.sums, SumsOf(profile));
  EXPECT_EQ(pushed.ids.size(), pushed.profiles);
  EXPECT_EQ(std::ranges::count(pushed.comments, "gap before this profile: 90s, spool_full"), 1);
}

TEST(SeriesEncoderTest, DamagedRequestsAreNotSplit) {
  PyroscopeTarget target(SettingsOf(1u << 30));
  const std::string payload = target.Encode(Exported())->payloads[0];
  EXPECT_TRUE(target.Split("\xff\xff").empty());
  EXPECT_TRUE(target.Split("").empty());
  EXPECT_TRUE(target.Split(payload.substr(0, payload.size() / 2)).empty());
  EXPECT_TRUE(SplitSeries({{{}, "\x1f\x8b no gzip", "id"}}).empty());
  pprof::Profile wrong;
  wrong.add_string_table("");
  for (int i = 0; i < 2; ++i) wrong.add_sample()->add_location_id(9);
  EXPECT_TRUE(SplitPprof(wrong).empty());
  wrong.mutable_sample(0)->clear_location_id();
  wrong.mutable_sample(1)->clear_location_id();
  EXPECT_EQ(SplitPprof(wrong).size(), 2u);
  wrong.add_comment(7);
  EXPECT_TRUE(SplitPprof(wrong).empty());
}

TEST(SeriesEncoderTest, OnCpuIsTheOneTypeThatIsLeft) {
  ExportProfile profile = Exported(What::kOnCpu);
  PyroscopeTarget target(SettingsOf(1u << 30));
  push::PyroscopeRequest request;
  ASSERT_TRUE(request.ParseFromString(target.Encode(profile)->payloads[0]));
  std::uint64_t sum = 0;
  for (const auto& series : request.series()) {
    const Reading reading(series.samples(0).raw_profile());
    EXPECT_EQ(reading.types, (std::vector<std::string>{"cpu"}));
    for (const auto& sample : reading.profile.sample())
      sum += static_cast<std::uint64_t>(sample.value(0));
  }
  EXPECT_EQ(sum, TotalNs(profile));
}

TEST(SeriesEncoderTest, ProcessesWithoutAServiceAreOfAnUnknownOne) {
  ExportProfile profile = Exported();
  for (Labels& labels : profile.label_sets) labels = {{"team", "x"}};
  PyroscopeTarget target(SettingsOf(1u << 30));
  push::PyroscopeRequest request;
  ASSERT_TRUE(request.ParseFromString(target.Encode(profile)->payloads[0]));
  ASSERT_EQ(request.series_size(), 1);
  EXPECT_EQ(request.series(0).labels(1).name(), "service_name");
  EXPECT_EQ(request.series(0).labels(1).value(), "unknown_service");
}

void ReadParca(const std::string& payload, Sums& sums) {
  push::ParcaRequest request;
  ASSERT_TRUE(request.ParseFromString(payload));
  for (const auto& series : request.series()) {
    Labels labels;
    for (const auto& label : series.labels().labels()) {
      EXPECT_THAT(label.name(), ::testing::MatchesRegex("[a-zA-Z_][a-zA-Z0-9_]*"));
      EXPECT_TRUE(labels.emplace(label.name(), label.value()).second);
    }
    EXPECT_EQ(labels.at("__name__"), "profd");
    EXPECT_EQ(labels.at("host_name"), "testhost");
    const Reading reading(series.samples(0).raw_profile());
    EXPECT_EQ(reading.types, (std::vector<std::string>{"samples", "wall", "cpu", "off_cpu"}));
    for (const auto& sample : reading.profile.sample()) {
      EXPECT_NE(reading.Label(sample, "thread"), "");
      EXPECT_EQ(reading.Label(sample, "service.name"), "");
      std::string root = "[" + reading.Label(sample, "state");
      if (const auto wait = reading.Label(sample, "wait"); !wait.empty()) root += ":" + wait;
      sums[labels.at("service_name") + " " + root + "] " + reading.FunctionAt(sample, 0)] +=
          static_cast<std::uint64_t>(sample.value(1));
    }
  }
}

TEST(SeriesEncoderTest, ParcaHasStatesAsLabelsAndSumsStay) {
  const ExportProfile profile = Exported();
  for (const std::size_t limit : {1u << 30, 4'000u}) {
    ParcaTarget target(SettingsOf(limit));
    const auto encoded = target.Encode(profile);
    ASSERT_TRUE(encoded);
    EXPECT_EQ(encoded->payloads.size() == 1, limit == 1u << 30);
    Sums sums;
    Sums halved;
    for (const std::string& payload : encoded->payloads) {
      ReadParca(payload, sums);
      for (const std::string& half : target.Split(payload)) ReadParca(half, halved);
    }
    EXPECT_EQ(sums, SumsOf(profile));
    EXPECT_EQ(halved, SumsOf(profile));
  }
}

TEST(SeriesEncoderTest, LabelsOfParcasSeriesAndSamplesHaveDifferentNames) {
  ExportProfile profile = Exported();
  for (Labels& labels : profile.label_sets) labels["state"] = "bavaria";
  ParcaTarget target(SettingsOf(1u << 30));
  push::ParcaRequest request;
  ASSERT_TRUE(request.ParseFromString(target.Encode(profile)->payloads[0]));
  std::vector<std::string> names;
  for (const auto& label : request.series(0).labels().labels()) names.push_back(label.name());
  EXPECT_THAT(names, Contains("label_state"));
  EXPECT_THAT(names, ::testing::Not(Contains("state")));
}

}  // namespace
}  // namespace profd::fleet
