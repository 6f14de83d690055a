#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <regex>
#include <set>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProfileMaker;

const Exporter kCallgrind = **ExporterByName("callgrind");

using Costs = std::vector<std::uint64_t>;

void AddTo(const Costs& costs, Costs& sum) {
  sum.resize(costs.size());
  for (std::size_t i = 0; i < costs.size(); ++i) sum[i] += costs[i];
}

// What a reader of the format knows of a function, whose key is "name@file@object".
struct Read {
  std::vector<std::string> events;
  std::map<std::string, Costs> self;
  std::map<std::string, Costs> total;  // its own and that of its calls
  std::map<std::string, Costs> calls;  // "caller:line -> callee"
  std::map<std::string, Costs> lines;  // "name:line"
  Costs totals;
};

class Reader {
 public:
  explicit Reader(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) Take(line);
    EXPECT_FALSE(in_call_);
  }
  Read read;

 private:
  void Take(const std::string& line) {
    if (line.empty() || line[0] == '#') return;
    std::smatch match;
    static const std::regex kCost("(\\d+)((?: \\d+)+)");
    static const std::regex kKey("([a-z]+)=(.*)");
    if (std::regex_match(line, match, kCost)) return TakeCost(match[1], match[2]);
    if (line.starts_with("events: ")) {
      read.events = Words(line.substr(8));
      return;
    }
    if (line.starts_with("totals: ")) {
      read.totals = Numbers(line.substr(8));
      return;
    }
    if (!std::regex_match(line, match, kKey)) {
      static const std::regex kHead("(version|creator|cmd|desc|positions|event): .*");
      EXPECT_TRUE(std::regex_match(line, kHead)) << line;
      return;
    }
    const std::string key = match[1];
    const std::string value = match[2];
    if (key == "ob") object_ = Name("ob", value);
    if (key == "fl") file_ = Name("fl", value);
    if (key == "fn") function_ = Name("fn", value);
    if (key == "cob") called_object_ = Name("ob", value);
    if (key == "cfi") called_file_ = Name("fl", value);
    if (key == "cfn") called_ = Name("fn", value);
    if (key == "calls") in_call_ = true;
  }

  static std::vector<std::string> Words(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
  }
  static Costs Numbers(const std::string& text) {
    Costs numbers;
    for (const std::string& word : Words(text)) numbers.push_back(std::stoull(word));
    return numbers;
  }

  std::string Name(const std::string& kind, const std::string& value) {
    std::smatch match;
    static const std::regex kName("\\((\\d+)\\)(?: (.*))?");
    EXPECT_TRUE(std::regex_match(value, match, kName)) << value;
    std::string& name = names_[kind + match[1].str()];
    if (match[2].matched) {
      EXPECT_EQ(name, "") << value;
      name = match[2];
    }
    EXPECT_NE(name, "") << value;
    return name;
  }

  void TakeCost(const std::string& line, const std::string& costs_text) {
    const Costs costs = Numbers(costs_text);
    EXPECT_EQ(costs.size(), read.events.size());
    const std::string key = function_ + "@" + file_ + "@" + object_;
    AddTo(costs, read.total[key]);
    if (in_call_) {
      const std::string called = called_ + "@" + called_file_ + "@" + called_object_;
      AddTo(costs, read.calls[function_ + ":" + line + " -> " + called_]);
    } else {
      AddTo(costs, read.self[key]);
      AddTo(costs, read.lines[function_ + ":" + line]);
    }
    in_call_ = false;
  }

  std::map<std::string, std::string> names_;
  std::string object_, file_, function_, called_object_, called_file_, called_;
  bool in_call_ = false;
};

Read Parsed(const v1::Profile& profile, const ExportOptions& options = {}) {
  return Reader(Written(kCallgrind, profile, options)).read;
}

Costs Sum(const std::map<std::string, Costs>& of) {
  Costs sum(6);
  for (const auto& [key, costs] : of) AddTo(costs, sum);
  return sum;
}

// Wall time by function, with each function of a stack once, and of leaves.
struct Truth {
  std::multiset<std::uint64_t> total;
  std::multiset<std::uint64_t> self;
  std::uint64_t all = 0;
};

Truth TruthOf(const v1::Profile& profile) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::uint64_t> total;
  std::map<Key, std::uint64_t> self;
  Truth truth;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    std::set<Key> on_stack;
    const std::uint64_t ns = profile.samples().weight_ns(i);
    truth.all += ns;
    const std::uint32_t leaf = profile.samples().node(i);
    for (std::uint32_t at = leaf; at != 0; at = profile.nodes(static_cast<int>(at) - 1).parent()) {
      const v1::Frame& frame =
          profile.frames(static_cast<int>(profile.nodes(static_cast<int>(at) - 1).frame()));
      const Key key(frame.name(), frame.file(), frame.module());
      on_stack.insert(key);
      if (at == leaf) self[key] += ns;
    }
    for (const Key& key : on_stack) total[key] += ns;
  }
  for (const auto& [key, ns] : total) truth.total.insert(ns);
  for (const auto& [key, ns] : self) truth.self.insert(ns);
  return truth;
}

void ExpectTruth(const v1::Profile& profile) {
  Read read = Parsed(profile);
  const Truth truth = TruthOf(profile);
  EXPECT_EQ(read.total["[all]@???@???"][0], truth.all);
  read.total.erase("[all]@???@???");
  std::multiset<std::uint64_t> total;
  std::multiset<std::uint64_t> self;
  for (const auto& [key, costs] : read.total) total.insert(costs[0]);
  for (const auto& [key, costs] : read.self) self.insert(costs[0]);
  EXPECT_EQ(total, truth.total);
  EXPECT_EQ(self, truth.self);
  EXPECT_EQ(read.totals[0], truth.all);
  EXPECT_EQ(Sum(read.self), read.totals);
  for (const auto* of : {&read.self, &read.calls})
    for (const auto& [key, costs] : *of)
      EXPECT_EQ(costs[0], std::accumulate(costs.begin() + 1, costs.end(), std::uint64_t{0})) << key;
}

TEST(Callgrind, MatchesItsGolden) {
  ExpectGolden(Written(kCallgrind, testing::SmallProfile()), "small.callgrind");
}

TEST(Callgrind, EventsAreTheStatesAndAddUp) {
  const Read read = Parsed(testing::SpinningProfile());
  EXPECT_THAT(read.events,
              ElementsAre("Wall", "Working", "Spinning", "Runnable", "Blocked", "Stolen"));
  constexpr std::uint64_t kMs = 1'000'000;
  EXPECT_EQ(read.totals, (Costs{4000 * kMs, 650 * kMs, 400 * kMs, 0, 2950 * kMs, 0}));
  EXPECT_EQ(read.total.at("main@???@/usr/bin/demo"),
            (Costs{2000 * kMs, 650 * kMs, 400 * kMs, 0, 950 * kMs, 0}));
}

TEST(Callgrind, SumsAreThoseOfTheProfile) {
  ExpectTruth(testing::SmallProfile());
  ExpectTruth(testing::TypicalProfile());
  ExpectTruth(testing::LargeProfile(3000));
  ExpectTruth(testing::ManyThreadsProfile(20));
}

TEST(Callgrind, RecursionCountsOnce) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"main", "a", "b", "a", "c"}, testing::Running(1));
  maker.Add(thread, {"main", "a", "a", "a"}, testing::Running(2));
  maker.Add(thread, {"main", "a", "b", "a", "b", "d", "b"}, testing::Running(4));
  maker.Add(thread, {"main", "c"}, testing::Running(8));
  maker.Add(thread, {"a", "main", "c"}, testing::Running(16));
  maker.Add(thread, {"c", "c", "a"}, testing::Running(32));
  const v1::Profile profile = maker.Make();
  ExpectTruth(profile);
  const Read read = Parsed(profile);
  EXPECT_EQ(read.total.at("a@???@/usr/bin/demo")[0], 55'000'000u);
  EXPECT_EQ(read.calls.at("main:0 -> a")[0], 7'000'000u);
  EXPECT_EQ(read.calls.at("a:0 -> c")[0], 1'000'000u);
  EXPECT_EQ(read.calls.at("d:0 -> b")[0], 4'000'000u);
  EXPECT_EQ(read.calls.at("[all]:0 -> main")[0], 15'000'000u);
  EXPECT_FALSE(read.calls.contains("a:0 -> a"));
}

TEST(Callgrind, LinesAreThoseOfTheCodeAndOfCalls) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"main (a.py:7)", "step (a.py:20)"}, testing::Running(1));
  maker.Add(thread, {"main (a.py:7)", "step (a.py:21)"}, testing::Running(2));
  maker.Add(thread, {"main (a.py:9)", "step (a.py:21)"}, testing::Running(4));
  const Read read = Parsed(maker.Make());
  EXPECT_EQ(read.lines.at("step:20")[0], 1'000'000u);
  EXPECT_EQ(read.lines.at("step:21")[0], 6'000'000u);
  EXPECT_EQ(read.calls.at("main:7 -> step")[0], 3'000'000u);
  EXPECT_EQ(read.calls.at("main:9 -> step")[0], 4'000'000u);
  EXPECT_TRUE(read.self.contains("step@/srv/app/a.py@???"));
}

TEST(Callgrind, SamplesWithoutAStackAndMeasuredTimeWithoutSamplesStay) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {}, testing::Running(3));
  maker.Add(thread, {"main", "[not sampled]"}, testing::Blocked(v1::WAIT_OTHER, 5, 0));
  const Read read = Parsed(maker.Make());
  EXPECT_EQ(read.self.at("[no stack]@???@???")[0], 3'000'000u);
  EXPECT_EQ(read.totals[0], 8'000'000u);
  EXPECT_THAT(Written(kCallgrind, maker.Make()), HasSubstr("calls=1 0\n"));
  EXPECT_EQ(Parsed(testing::EmptyProfile()).totals, Costs(6, 0));
}

TEST(Callgrind, HostileNamesStayInTheirLines) {
  const v1::Profile profile = testing::HostileProfile();
  const std::string text = Written(kCallgrind, profile);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  const Read read = Reader(text).read;
  EXPECT_EQ(read.totals[0], testing::HostileNames().size() * 10'000'000);
}

}  // namespace
}  // namespace profd::client
