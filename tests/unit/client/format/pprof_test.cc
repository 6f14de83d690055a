#include <gmock/gmock.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemon/base/pprof/pprof.pb.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using testing::ProfileMaker;

const Exporter kPprof = **ExporterByName("pprof");

pprof::Profile Parsed(const v1::Profile& profile, const ExportOptions& options = {}) {
  const std::string bytes = Written(kPprof, profile, options);
  EXPECT_TRUE(bytes.starts_with("\x1f\x8b"));
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream gzip(&array);
  pprof::Profile parsed;
  EXPECT_TRUE(parsed.ParseFromZeroCopyStream(&gzip));
  return parsed;
}

const std::string& Text(const pprof::Profile& profile, std::int64_t index) {
  return profile.string_table(static_cast<int>(index));
}

// What pprof's own CheckValid asks for, and what its viewers trip over.
void ExpectValid(const pprof::Profile& profile) {
  ASSERT_GT(profile.string_table_size(), 0);
  EXPECT_EQ(profile.string_table(0), "");
  std::set<std::uint64_t> mappings;
  for (const auto& mapping : profile.mapping()) {
    EXPECT_TRUE(mapping.id() != 0 && mappings.insert(mapping.id()).second);
    EXPECT_LT(mapping.memory_start(), mapping.memory_limit());
    EXPECT_TRUE(mapping.has_functions());
  }
  std::set<std::uint64_t> functions;
  for (const auto& function : profile.function()) {
    EXPECT_TRUE(function.id() != 0 && functions.insert(function.id()).second);
    EXPECT_FALSE(Text(profile, function.name()).empty());
  }
  std::set<std::uint64_t> locations;
  for (const auto& location : profile.location()) {
    EXPECT_TRUE(location.id() != 0 && locations.insert(location.id()).second);
    EXPECT_GT(location.line_size(), 0);
    for (const auto& line : location.line()) EXPECT_TRUE(functions.contains(line.function_id()));
    if (location.mapping_id() == 0) continue;
    const auto& mapping = profile.mapping(static_cast<int>(location.mapping_id() - 1));
    EXPECT_GE(location.address(), mapping.memory_start());
    EXPECT_LT(location.address(), mapping.memory_limit());
  }
  for (const auto& sample : profile.sample()) {
    EXPECT_EQ(sample.value_size(), profile.sample_type_size());
    EXPECT_GT(sample.location_id_size(), 0);
    for (const std::uint64_t id : sample.location_id()) EXPECT_TRUE(locations.contains(id));
    std::set<std::int64_t> keys;
    for (const auto& label : sample.label()) {
      EXPECT_TRUE(keys.insert(label.key()).second);
      EXPECT_TRUE((label.str() != 0) != (label.num() != 0));
    }
  }
}

std::vector<std::int64_t> Sums(const pprof::Profile& profile) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(profile.sample_type_size()));
  for (const auto& sample : profile.sample())
    for (int i = 0; i < sample.value_size(); ++i)
      sums[static_cast<std::size_t>(i)] += sample.value(i);
  return sums;
}

TEST(Pprof, MatchesItsGolden) {
  ExpectGolden(Parsed(testing::SmallProfile()).DebugString(), "small.pprof.txt");
}

TEST(Pprof, IsValid) {
  for (const v1::Profile& profile :
       {testing::SmallProfile(), testing::TypicalProfile(), testing::EmptyProfile(),
        testing::HostileProfile(), testing::LargeProfile(3000), testing::ManyThreadsProfile(50)})
    ExpectValid(Parsed(profile));
}

TEST(Pprof, CountsWallCpuAndOffCpu) {
  const pprof::Profile profile = Parsed(testing::SmallProfile());
  std::vector<std::string> types;
  for (const auto& type : profile.sample_type())
    types.push_back(Text(profile, type.type()) + "/" + Text(profile, type.unit()));
  EXPECT_THAT(types, ElementsAre("samples/count", "wall/nanoseconds", "cpu/nanoseconds",
                                 "off_cpu/nanoseconds"));
  EXPECT_EQ(Sums(profile),
            (std::vector<std::int64_t>{172, 4'000'000'000, 1'680'000'000, 2'320'000'000}));
  EXPECT_EQ(Text(profile, profile.default_sample_type()), "wall");
  EXPECT_EQ(Text(profile, profile.period_type().type()), "wall");
  EXPECT_EQ(profile.duration_nanos(), 2'000'000'000);
}

TEST(Pprof, ShowsAtFirstWhatWasSampled) {
  v1::Profile source = testing::SmallProfile();
  source.set_off_cpu(false);
  pprof::Profile profile = Parsed(source);
  EXPECT_EQ(Text(profile, profile.default_sample_type()), "cpu");
  source.set_on_cpu(false);
  source.set_off_cpu(true);
  profile = Parsed(source);
  EXPECT_EQ(Text(profile, profile.default_sample_type()), "off_cpu");
}

TEST(Pprof, LabelsSayWhoAndWhy) {
  const pprof::Profile profile = Parsed(testing::SmallProfile());
  std::map<std::string, int> seen;
  for (const auto& sample : profile.sample()) {
    std::string all;
    for (const auto& label : sample.label())
      all += Text(profile, label.key()) + "=" +
             (label.str() != 0 ? Text(profile, label.str()) : std::to_string(label.num())) + " ";
    ++seen[all];
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen.count("pid=4242 tid=4242 process=demo thread=demo state=on_cpu "
                       "running=working "),
            1u);
  EXPECT_EQ(seen.count("pid=4242 tid=4242 process=demo thread=demo state=runnable "), 1u);
  EXPECT_EQ(seen.count("pid=4242 tid=4243 process=demo thread=worker state=blocked wait=io "), 1u);
}

TEST(Pprof, LabelsSayOnWhomABlockedThreadWaits) {
  const pprof::Profile profile = Parsed(testing::WaitingProfile());
  ExpectValid(profile);
  std::map<std::string, std::int64_t> off_cpu_ms;  // by labels
  for (const auto& sample : profile.sample()) {
    std::string all;
    for (const auto& label : sample.label()) {
      const std::string key = Text(profile, label.key());
      if (key == "waits_for" || key == "path" || key == "path_end")
        all += key + "=" + Text(profile, label.str()) + " ";
    }
    off_cpu_ms[all] += sample.value(3) / 1'000'000;
  }
  EXPECT_EQ(off_cpu_ms,
            (std::map<std::string, std::int64_t>{
                {"", 0},
                {"path=a timer path_end=timer ", 98},
                {"path=still waits path_end=still waits ", 20},
                {"path=the disk path_end=disk ", 210},
                {"path=wake-up not seen path_end=wake-up not seen ", 10},
                {"waits_for=engine-worker path=engine-worker < the disk path_end=disk ", 210},
                {"waits_for=engine-worker path=engine-worker path_end=runs ", 620},
                {"waits_for=store/io-* path=store/io-* path_end=not followed yet ", 42}}));
}

TEST(Pprof, LabelsSayWhatSpinsAndWhichRuleSaysSo) {
  const pprof::Profile profile = Parsed(testing::SpinningProfile());
  std::map<std::string, std::int64_t> cpu_ns;  // by labels
  for (const auto& sample : profile.sample()) {
    std::string all;
    for (const auto& label : sample.label()) {
      const std::string key = Text(profile, label.key());
      if (key == "running" || key == "class" || key == "rule")
        all += key + "=" + Text(profile, label.str()) + " ";
    }
    cpu_ns[all] += sample.value(2);
  }
  EXPECT_EQ(cpu_ns, (std::map<std::string, std::int64_t>{
                        {"", 0},
                        {"running=working ", 600'000'000},
                        {"running=spinning class=spin rule=rules.toml:1 ", 300'000'000},
                        {"running=spinning class=gpu-wait rule=rules.toml:2 ", 100'000'000},
                        {"running=working class=runtime rule=rules.toml:3 ", 50'000'000}}));
}

TEST(Pprof, LabelsSayWhatAFrameworkRan) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"engine", "mm"});
  maker.Add(thread, {"engine"});
  maker.Add(thread, {"main"});
  v1::Profile source = maker.Make();
  source.add_operators()->set_name("aten::mm\x1b");
  source.mutable_frames(0)->set_phase(v1::PHASE_BACKWARD);
  source.mutable_frames(1)->set_op(1);
  const pprof::Profile profile = Parsed(source);
  ExpectValid(profile);
  std::multiset<std::string> labels;
  for (const auto& sample : profile.sample()) {
    std::string all;
    for (const auto& label : sample.label())
      if (Text(profile, label.key()) == "operator" || Text(profile, label.key()) == "phase")
        all += Text(profile, label.key()) + "=" + Text(profile, label.str()) + " ";
    labels.insert(all);
  }
  EXPECT_EQ(labels, (std::multiset<std::string>{"", "phase=backward ",
                                                "operator=aten::mm? phase=backward "}));
}

TEST(Pprof, LabelsOfThreadsAreLabels) {
  const pprof::Profile profile = Parsed(testing::LabelledProfile());
  ExpectValid(profile);
  std::multiset<std::string> labels;
  for (const auto& sample : profile.sample()) {
    std::string all;
    for (const auto& label : sample.label())
      if (Text(profile, label.key()) == "step" || Text(profile, label.key()) == "label:phase")
        all += Text(profile, label.key()) + "=" + Text(profile, label.str()) + " ";
    labels.insert(all);
  }
  EXPECT_EQ(labels,
            (std::multiset<std::string>{"", "step=1 ", "step=2 ", "label:phase=load step=2 "}));
}

TEST(Pprof, LabelsOfProcessesAreLabelsButForThoseOfTheHost) {
  v1::Profile profile = testing::SmallProfile();
  for (auto& process : *profile.mutable_processes()) {
    (*process.mutable_labels())["service.name"] = "cart";
    (*process.mutable_labels())["__resource.team"] = "a";
  }
  const pprof::Profile parsed = Parsed(profile);
  ExpectValid(parsed);
  ASSERT_GT(parsed.sample_size(), 0);
  for (const auto& sample : parsed.sample()) {
    std::map<std::string, std::string> labels;
    for (const auto& label : sample.label())
      labels[std::string(Text(parsed, label.key()))] = Text(parsed, label.str());
    EXPECT_EQ(labels["service.name"], "cart");
    EXPECT_FALSE(labels.contains("__resource.team"));
  }
}

TEST(Pprof, InlinedFunctionsShareTheLocationOfTheirCaller) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  std::vector<v1::Frame> stack;
  for (const char* text : {"main", "outer", "middle_[i]", "inner_[i]"}) {
    stack.push_back(testing::FrameFromText(text));
    stack.back().set_offset(text == std::string("main") ? 0x100 : 0x200);
    stack.back().set_line(static_cast<std::uint32_t>(stack.size()));
  }
  maker.AddFrames(thread, stack);
  const pprof::Profile profile = Parsed(maker.Make());
  ASSERT_EQ(profile.sample_size(), 1);
  ASSERT_EQ(profile.sample(0).location_id_size(), 2);  // leaf first
  const auto& leaf = profile.location(static_cast<int>(profile.sample(0).location_id(0) - 1));
  std::vector<std::string> names;
  for (const auto& line : leaf.line())
    names.push_back(
        Text(profile, profile.function(static_cast<int>(line.function_id() - 1)).name()) + ":" +
        std::to_string(line.line()));
  EXPECT_THAT(names, ElementsAre("inner:4", "middle:3", "outer:2"));
  EXPECT_EQ(leaf.address(), 0x200u);
}

TEST(Pprof, AnInlinedFunctionOfAnotherPlaceStandsAlone) {
  ProfileMaker maker;
  std::vector<v1::Frame> stack{testing::FrameFromText("outer"), testing::FrameFromText("lost_[i]")};
  stack[0].set_offset(1);
  stack[1].set_offset(2);
  maker.AddFrames(maker.AddThread(1, "t"), stack);
  const pprof::Profile profile = Parsed(maker.Make());
  ExpectValid(profile);
  EXPECT_EQ(profile.sample(0).location_id_size(), 2);
}

TEST(Pprof, TheFirstMappingIsTheProgram) {
  ProfileMaker maker;
  v1::Frame other = testing::FrameFromText("f");
  other.set_module("/lib/a.so");
  maker.AddFrames(maker.AddThread(1, "t"), {testing::FrameFromText("main"), other});
  v1::Module* module = maker.profile().add_modules();
  module->set_path("/lib/a.so");
  module->set_build_id("ab12");
  const pprof::Profile profile = Parsed(maker.Make());
  EXPECT_EQ(Text(profile, profile.mapping(0).filename()), "/usr/bin/demo");
  EXPECT_EQ(Text(profile, profile.mapping(0).build_id()), "");
  EXPECT_EQ(Text(profile, profile.mapping(1).build_id()), "ab12");
}

TEST(Pprof, AddressesAtTheEndOfTheirRangeStayWithinTheirMapping) {
  ProfileMaker maker;
  v1::Frame last = testing::FrameFromText("last_[k]");
  last.set_offset(~0ull - 1);
  maker.AddFrames(maker.AddThread(1, "t"), {last});
  ExpectValid(Parsed(maker.Make()));
}

TEST(Pprof, HardwareCountsAreSampleTypesWhereThereAreSome) {
  const pprof::Profile counted = Parsed(testing::CountedProfile());
  ExpectValid(counted);
  ASSERT_EQ(counted.sample_type_size(), 7);
  EXPECT_EQ(Text(counted, counted.sample_type(4).type()), "cycles");
  EXPECT_EQ(Text(counted, counted.sample_type(6).type()), "cache_misses");
  EXPECT_EQ(Text(counted, counted.sample_type(6).unit()), "count");
  const auto sums = Sums(counted);
  EXPECT_EQ(sums[4], 3'000'000'000);
  EXPECT_EQ(sums[5], 3'712'500'000);
  EXPECT_EQ(sums[6], 22'500'000);
  EXPECT_EQ(Parsed(testing::SmallProfile()).sample_type_size(), 4);
}

TEST(Pprof, PythonFramesHaveTheirPlaceInFieldsOfTheirOwn) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "t"), {"Tensor.numpy (tensor.py:31)"});
  const pprof::Profile profile = Parsed(maker.Make());
  ASSERT_EQ(profile.function_size(), 1);
  EXPECT_EQ(Text(profile, profile.function(0).name()), "Tensor.numpy");
  EXPECT_EQ(Text(profile, profile.function(0).filename()), "/srv/app/tensor.py");
  EXPECT_EQ(profile.location(0).line(0).line(), 31);
  EXPECT_EQ(profile.location(0).mapping_id(), 0u);
}

}  // namespace
}  // namespace profd::client
