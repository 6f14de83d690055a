#include <gmock/gmock.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::ProfileMaker;

const Exporter kFirefox = **ExporterByName("firefox");

v1::Profile WithTimes(v1::Profile profile) {
  profile.mutable_samples()->clear_edges();
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
    profile.mutable_samples()->add_edges(0);
  return profile;
}

std::string Unzipped(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream gzip(&array);
  std::string text;
  const void* data = nullptr;
  for (int size = 0; gzip.Next(&data, &size);)
    text.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  return text;
}

json Parsed(const v1::Profile& profile) {
  return json::parse(Unzipped(Written(kFirefox, profile)));
}

std::uint64_t Ns(const json& ms) {
  return static_cast<std::uint64_t>(std::llround(ms.get<double>() * 1e6));
}

const json& Text(const json& file, const json& index) {
  return file["shared"]["stringArray"][index.get<std::size_t>()];
}

// Root first.
std::vector<std::string> Names(const json& file, json stack) {
  std::vector<std::string> names;
  const json& shared = file["shared"];
  while (!stack.is_null()) {
    const auto at = stack.get<std::size_t>();
    const json& func =
        shared["frameTable"]["func"][shared["stackTable"]["frame"][at].get<std::size_t>()];
    names.push_back(Text(file, shared["funcTable"]["name"][func.get<std::size_t>()]));
    stack = shared["stackTable"]["prefix"][at];
  }
  std::ranges::reverse(names);
  return names;
}

std::string CategoryOf(const json& file, const json& stack) {
  const json& shared = file["shared"];
  const auto frame = shared["stackTable"]["frame"][stack.get<std::size_t>()].get<std::size_t>();
  const json& category =
      file["meta"]["categories"][shared["frameTable"]["category"][frame].get<std::size_t>()];
  const json& sub =
      category["subcategories"][shared["frameTable"]["subcategory"][frame].get<std::size_t>()];
  return category["name"].get<std::string>() + (sub == "Other" ? "" : ":" + sub.get<std::string>());
}

void ExpectColumns(const json& table) {
  const auto length = table["length"].get<std::size_t>();
  for (const auto& [name, column] : table.items())
    if (column.is_array()) {
      EXPECT_EQ(column.size(), length) << name;
    }
}

// Indices in range, parents before children, times in order.
void ExpectValid(const json& file) {
  const json& shared = file["shared"];
  for (const char* table :
       {"stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"})
    ExpectColumns(shared[table]);
  const auto below = [](const json& column, const json& limit) {
    for (const json& index : column)
      if (!index.is_null() && index != -1) {
        EXPECT_LT(index, limit);
      }
  };
  below(shared["stackTable"]["frame"], shared["frameTable"]["length"]);
  below(shared["frameTable"]["func"], shared["funcTable"]["length"]);
  below(shared["funcTable"]["name"], shared["stringArray"].size());
  below(shared["funcTable"]["resource"], shared["resourceTable"]["length"]);
  below(shared["funcTable"]["source"], shared["sources"]["length"]);
  below(shared["resourceTable"]["lib"], file["libs"].size());
  below(shared["sources"]["filename"], shared["stringArray"].size());
  for (std::size_t i = 0; i < shared["stackTable"]["prefix"].size(); ++i) {
    const json& prefix = shared["stackTable"]["prefix"][i];
    if (!prefix.is_null()) {
      EXPECT_LT(prefix, i);
    }
  }
  ASSERT_FALSE(file["threads"].empty());
  for (const json& thread : file["threads"]) {
    ExpectColumns(thread["samples"]);
    ExpectColumns(thread["markers"]);
    EXPECT_TRUE(thread["pid"].is_string());
    below(thread["samples"]["stack"], shared["stackTable"]["length"]);
    const json& times = thread["samples"]["time"];
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i - 1], times[i]);
  }
}

std::map<std::string, std::uint64_t> Categories(const json& file, const json& thread) {
  std::map<std::string, std::uint64_t> sums;
  for (std::size_t i = 0; i < thread["samples"]["stack"].size(); ++i)
    sums[CategoryOf(file, thread["samples"]["stack"][i])] += Ns(thread["samples"]["weight"][i]);
  return sums;
}

TEST(Firefox, MatchesItsGolden) {
  ExpectGolden(Unzipped(Written(kFirefox, WithTimes(testing::SmallProfile()))),
               "small.firefox.json");
}

TEST(Firefox, WeightsAddUpToTheClocksByCategory) {
  const json file = Parsed(WithTimes(testing::SmallProfile()));
  ExpectValid(file);
  EXPECT_EQ(file["meta"]["preprocessedProfileVersion"], 60);
  ASSERT_EQ(file["threads"].size(), 2u);
  EXPECT_EQ(
      Categories(file, file["threads"][0]),
      (std::map<std::string, std::uint64_t>{
          {"Native", 1'680'000'000}, {"Runnable", 20'000'000}, {"Blocked:lock", 300'000'000}}));
  EXPECT_EQ(Categories(file, file["threads"][1]),
            (std::map<std::string, std::uint64_t>{{"Blocked:sleep", 1'200'000'000},
                                                  {"Blocked:io", 800'000'000}}));
  const json& stacks = file["threads"][0]["samples"]["stack"];
  EXPECT_THAT(Names(file, stacks[0]), ElementsAre("_start", "main", "compute"));
  EXPECT_THAT(Names(file, stacks[4]),
              ElementsAre("_start", "main", "wait", "futex_wait_[k]", "[blocked:lock]"));
}

TEST(Firefox, TheCpuGraphShowsWhatRan) {
  const json file = Parsed(WithTimes(testing::SmallProfile()));
  const json& samples = file["threads"][0]["samples"];
  std::uint64_t ran_ns = 0;
  for (std::size_t i = 1; i < samples["time"].size(); ++i) {
    const auto delta = samples["threadCPUDelta"][i].get<std::uint64_t>();
    EXPECT_LE(delta, Ns(samples["time"][i]) - Ns(samples["time"][i - 1]) + 1);
    ran_ns += delta;
  }
  EXPECT_EQ(ran_ns, 1'680'000'000u);
  for (const json& delta : file["threads"][1]["samples"]["threadCPUDelta"]) EXPECT_EQ(delta, 0);
}

TEST(Firefox, WaitsAreMarkersWithWhoEndedThem) {
  const json file = Parsed(WithTimes(testing::WaitingProfile()));
  ExpectValid(file);
  std::vector<std::string> waits;
  const json& markers = file["threads"][0]["markers"];
  for (std::size_t i = 0; i < markers["data"].size(); ++i) {
    EXPECT_EQ(Text(file, markers["name"][i]), "Wait");
    const json& data = markers["data"][i];
    waits.push_back(
        std::to_string((Ns(markers["endTime"][i]) - Ns(markers["startTime"][i])) / 1'000'000) +
        " " + data["reason"].get<std::string>() + " " + data["waker"].get<std::string>() + ", " +
        data["path"].get<std::string>());
  }
  EXPECT_THAT(waits, ElementsAre("620 lock engine-worker, engine-worker",
                                 "210 lock engine-worker, engine-worker < the disk",
                                 "98 sleep a timer, a timer", "42 pipe store/io-*, store/io-*",
                                 "20 lock still waits, still waits",
                                 "10 lock wake-up not seen, wake-up not seen"));
}

TEST(Firefox, AFlowGoesFromWhoEndedTheWait) {
  const json file = Parsed(WithTimes(testing::EndedWaitsProfile()));
  ExpectValid(file);
  std::vector<std::string> ends;
  for (const json& thread : file["threads"]) {
    const json& markers = thread["markers"];
    for (std::size_t i = 0; i < markers["data"].size(); ++i) {
      const json& data = markers["data"][i];
      if (!data.contains("flow")) continue;
      const bool instant = markers["phase"][i] == 0;
      EXPECT_EQ(markers["endTime"][i].is_null(), instant);
      ends.push_back(Text(file, data["flow"]).get<std::string>() + ": " +
                     thread["name"].get<std::string>() + " " + data["type"].get<std::string>() +
                     " " + std::to_string(Ns(markers[instant ? "startTime" : "endTime"][i])) + " " +
                     data.value("thread", ""));
    }
  }
  EXPECT_THAT(ends, ElementsAre("flow 1: waiter Wait 120000000 ",
                                "flow 1: worker Wake 119999999 waiter (1)"));
}

TEST(Firefox, OperatorsAreMarkers) {
  const json file = Parsed(WithTimes(testing::OperatorProfile()));
  std::set<std::string> operators;
  for (const json& data : file["threads"][0]["markers"]["data"])
    if (data["type"] == "Operator")
      operators.insert(data["operator"].get<std::string>() + " " +
                       data["phase"].get<std::string>());
  EXPECT_EQ(operators, std::set<std::string>{"aten::linear forward"});
}

TEST(Firefox, LabelsAreMarkers) {
  const json file = Parsed(WithTimes(testing::LabelledProfile()));
  std::set<std::string> labels;
  for (const json& data : file["threads"][0]["markers"]["data"])
    if (data["type"] == "Labels") labels.insert(data["labels"].get<std::string>());
  EXPECT_EQ(labels, (std::set<std::string>{"step=1", "step=2", "phase=load, step=2"}));
}

TEST(Firefox, SpinningAndPythonHaveTheirCategories) {
  const json spinning = Parsed(WithTimes(testing::SpinningProfile()));
  EXPECT_EQ(Categories(spinning, spinning["threads"][0]).at("Spinning"), 400'000'000u);
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "t"), {"main (a.py:3)"});
  const json python = Parsed(maker.Make());
  EXPECT_EQ(Categories(python, python["threads"][0]).at("Python"), 10'000'000u);
  EXPECT_EQ(Text(python, python["shared"]["sources"]["filename"][0]), "/srv/app/a.py");
  EXPECT_EQ(python["shared"]["frameTable"]["line"][0], 3);
}

TEST(Firefox, EveryProfileIsValidAndAddsUp) {
  for (const v1::Profile& profile :
       {testing::LargeProfile(3000), testing::ManyThreadsProfile(30), testing::HostileProfile(),
        testing::EmptyProfile(), testing::TypicalProfile(), testing::PoolProfile()}) {
    std::uint64_t all = 0;
    for (const std::uint64_t weight : profile.samples().weight_ns()) all += weight;
    for (const json& file : {Parsed(profile), Parsed(WithTimes(profile))}) {
      ExpectValid(file);
      std::uint64_t sum = 0;
      for (const json& thread : file["threads"])
        for (const json& weight : thread["samples"]["weight"]) sum += Ns(weight);
      EXPECT_EQ(sum, all);
    }
  }
}

}  // namespace
}  // namespace profd::client
