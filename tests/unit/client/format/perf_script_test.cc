#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <regex>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProfileMaker;

const Exporter kPerfScript = **ExporterByName("perf-script");

struct Event {
  std::string comm;
  std::string pid, tid, seconds, event;
  std::uint64_t period = 0;
  std::vector<std::string> frames;  // "symbol (module)", leaf first
};

// As the readers of the format split lines.
std::vector<Event> Read(const std::string& text) {
  static const std::regex kHead(R"((\S.+?)\s+(\d+)/(\d+)\s+(\d+\.\d{9}):\s+(\d+) ([a-z-]+):)");
  static const std::regex kFrame(R"(\s*(\w+)\s(.+) \((\S*)\))");
  std::vector<Event> events;
  std::istringstream in(text);
  std::smatch match;
  bool open = false;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) {
      open = false;
    } else if (open) {
      EXPECT_TRUE(std::regex_match(line, match, kFrame)) << line;
      const std::string symbol = match[2];
      EXPECT_FALSE(symbol.starts_with('(')) << line;
      events.back().frames.push_back(symbol + " (" + match[3].str() + ")");
    } else {
      EXPECT_TRUE(std::regex_match(line, match, kHead)) << line;
      events.push_back(
          {match[1], match[2], match[3], match[4], match[6], std::stoull(match[5]), {}});
      open = true;
    }
  }
  return events;
}

std::uint64_t TotalNs(const std::vector<Event>& events) {
  std::uint64_t sum = 0;
  for (const Event& event : events) sum += event.period;
  return sum;
}

TEST(PerfScript, MatchesItsGolden) {
  ExpectGolden(Written(kPerfScript, testing::SmallProfile()), "small.perf");
}

TEST(PerfScript, EachSampleIsAnEventWithItsTimeInNs) {
  const auto events = Read(Written(kPerfScript, testing::SmallProfile()));
  ASSERT_EQ(events.size(), 6u);
  const Event& first = events[0];
  EXPECT_EQ(first.comm, "demo");
  EXPECT_EQ(first.pid + "/" + first.tid, "4242/4242");
  EXPECT_EQ(first.seconds, "5.000000000");
  EXPECT_EQ(first.event, "wall");
  EXPECT_EQ(first.period, 1'500'000'400u);
  EXPECT_THAT(first.frames, ElementsAre("compute (/usr/bin/demo)", "main (/usr/bin/demo)",
                                        "_start (/usr/bin/demo)"));
  EXPECT_THAT(
      events[2].frames,
      ElementsAre("[blocked:lock] (profd)", "futex_wait ([kernel.kallsyms])",
                  "wait (/usr/bin/demo)", "main (/usr/bin/demo)", "_start (/usr/bin/demo)"));
  EXPECT_EQ(TotalNs(events), 4'000'000'000u);
}

TEST(PerfScript, TheEventSaysWhatIsSampled) {
  for (const auto& [on_cpu, off_cpu, name] :
       {std::tuple(true, false, "cpu-clock"), {false, true, "off-cpu"}, {true, true, "wall"}}) {
    ProfileMaker maker;
    maker.profile().set_on_cpu(on_cpu);
    maker.profile().set_off_cpu(off_cpu);
    maker.Add(maker.AddThread(1, "t"), {"main"});
    EXPECT_EQ(Read(Written(kPerfScript, maker.Make())).at(0).event, name);
  }
}

TEST(PerfScript, WhatReadersWouldDropIsWrittenInOtherWays) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(7, "V8 Worker 2");
  maker.Add(thread,
            {"(anonymous namespace)::run", "libc.so.6+0x10", "fit (my file.py:3)", "tiny_[i]"});
  maker.Add(thread, {}, testing::Blocked(v1::WAIT_IO, 1));
  maker.profile().mutable_samples()->set_weight_ns(0, 5);
  const auto events = Read(Written(kPerfScript, maker.Make()));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].comm, "V8_Worker_2");
  EXPECT_THAT(events[0].frames, ElementsAre("tiny (inlined)", "fit (/srv/app/my_file.py)",
                                            "[unknown] (/usr/lib/libc.so.6)",
                                            "{anonymous namespace}::run (/usr/bin/demo)"));
  EXPECT_THAT(events[1].frames, ElementsAre("[blocked:io] (profd)", "[no stack] (profd)"));
}

TEST(PerfScript, PeriodsAddUpToTheProfile) {
  const v1::Profile profile = testing::LargeProfile(2000);
  const auto& weights = profile.samples().weight_ns();
  EXPECT_EQ(TotalNs(Read(Written(kPerfScript, profile))),
            std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  EXPECT_EQ(Written(kPerfScript, testing::EmptyProfile()), "");
}

TEST(PerfScript, HostileNamesStayInTheirLines) {
  const std::string text = Written(kPerfScript, testing::HostileProfile());
  const auto events = Read(text);
  EXPECT_EQ(events.size(), testing::HostileNames().size());
  for (const Event& event : events) EXPECT_EQ(event.frames.size(), 2u * v1::FrameKind_ARRAYSIZE);
  for (const char c : text)
    EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace profd::client
