#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "client/format/html/page_data.h"
#include "client/profile/counters/counts.h"
#include "client/profile/fleet_marks.h"
#include "client/profile/report/report_table.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const Exporter& kHtml = **ExporterByName("html");

std::size_t CountOf(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size()))
    ++count;
  return count;
}

// The columns of the page's data, as it reads them.
class Data {
 public:
  explicit Data(const v1::Profile& profile) : bytes_(PageData(profile, {})) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length |= std::size_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    head = json::parse(bytes_.substr(4, length));
    at_ = 4 + length;
    const auto nodes = head["nodes"].get<std::size_t>();
    const auto samples = head["samples"].get<std::size_t>();
    parent = Column(nodes);
    function = Column(nodes);
    shown = Column(nodes);
    time = Column(samples);
    ns = Column(samples);
    points = Column(samples);
    part = Column(samples);
    leaf = Column(samples);
    if (head["counted"].get<bool>())
      for (std::vector<std::uint64_t>& counter : counts) counter = Column(samples);
    for (const json& axis : head["axes"]) {
      std::vector<std::uint64_t>& values = axes[axis["key"]];
      if (!axis.contains("by_part")) values = Column(samples);
      for (std::size_t i = values.size(); i < samples; ++i)
        values.push_back(axis["by_part"][part[i]]);
    }
    EXPECT_EQ(at_, bytes_.size());
  }

  json head;
  std::vector<std::uint64_t> parent, function, shown, time, ns, points, part, leaf;
  std::array<std::vector<std::uint64_t>, 4> counts;  // counted ns, cycles, instructions, misses
  std::map<std::string, std::vector<std::uint64_t>> axes;

 private:
  std::vector<std::uint64_t> Column(std::size_t count) {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
        value |= std::uint64_t{byte & 127u} << shift;
        if (byte < 128) break;
      }
      values.push_back(value);
    }
    return values;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

TEST(Html, IsOnePageThatFetchesNothing) {
  const std::string page = Written(kHtml, testing::SmallProfile());
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  // The name of the SVG elements that the script makes is no place.
  EXPECT_EQ(CountOf(page, "http:"), CountOf(page, "http://www.w3.org/2000/svg"));
  for (const char* what : {"https:", " src=", " href=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(what)));
  EXPECT_EQ(CountOf(page, "<script"), 2u);
  EXPECT_THAT(page, HasSubstr("2.30 s blocked"));
}

TEST(Html, NamesAreNoMarkup) {
  const std::string page = Written(kHtml, testing::HostileProfile());
  const std::string harmless = Written(kHtml, testing::SmallProfile());
  for (const char* what : {"<script", "</script", "<img", "<svg", "onerror", "javascript:"})
    EXPECT_EQ(CountOf(page, what), CountOf(harmless, what)) << what;
}

TEST(Html, ItsDataHasTheTimeOfEverySample) {
  const v1::Profile profile = testing::SmallProfile();
  const Data data(profile);
  const v1::Samples& samples = profile.samples();
  for (std::size_t i = 0; i < data.ns.size(); ++i) {
    EXPECT_EQ(data.ns[i], samples.weight_ns(static_cast<int>(i)));
    EXPECT_EQ(data.points[i], samples.count(static_cast<int>(i)));
  }
  for (std::size_t node = 1; node < data.parent.size(); ++node) {
    EXPECT_LT(data.parent[node], node);
    EXPECT_LE(data.shown[node], node);
  }
}

TEST(Html, ItsDataHasTheCountsOfEverySample) {
  const v1::Profile profile = testing::CountedProfile();
  const Data data(profile);
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Counts counts = CountsAt(profile.samples(), i);
    EXPECT_EQ(data.counts[0].at(at), counts.counted_ns);
    EXPECT_EQ(data.counts[1].at(at), counts.cycles);
    EXPECT_EQ(data.counts[2].at(at), counts.instructions);
    EXPECT_EQ(data.counts[3].at(at), counts.cache_misses);
  }
  EXPECT_TRUE(data.head["notes"].empty());
}

TEST(Html, SaysWhyRequestedCountersHaveNotCounted) {
  v1::Profile profile = testing::SmallProfile();
  EXPECT_TRUE(Data(profile).head["notes"].empty());
  profile.mutable_hardware_counters()->set_missing("no hardware counters: why");
  const Data data(profile);
  EXPECT_FALSE(data.head["counted"].get<bool>());
  EXPECT_EQ(data.head["notes"], json::array({"no hardware counters: why"}));
}

// The same sums as the table of `report --by KEY`.
TEST(Html, ItsAxesAreTheKeysOfTheReport) {
  for (const v1::Profile& profile : {testing::WaitingProfile(), testing::LabelledProfile()}) {
    const Data data(profile);
    ASSERT_GE(data.head["axes"].size(), 3u);
    for (const json& axis : data.head["axes"]) {
      const auto keys = ParseReportKeys(axis["key"].get<std::string>());
      ASSERT_TRUE(keys);
      std::map<std::string, std::uint64_t> sums;
      const auto& values = data.axes.at(axis["key"]);
      for (std::size_t i = 0; i < values.size(); ++i) sums[axis["names"][values[i]]] += data.ns[i];
      std::map<std::string, std::uint64_t> expected;
      for (const ReportRow& row : TableBy(*keys->front(), profile, {}).rows)
        expected[row.name] = row.self.all().ns;
      EXPECT_EQ(sums, expected) << axis["key"];
    }
  }
}

// A million samples of stacks, times and lengths that chance has chosen.
TEST(Html, AMillionSamplesTakeTenMegabytesAtMost) {
  v1::Profile profile = testing::LargeProfile(20'000);
  const auto threads = static_cast<std::uint32_t>(profile.threads_size());
  const auto nodes = static_cast<std::uint32_t>(profile.nodes_size());
  profile.clear_samples();
  v1::Samples& samples = *profile.mutable_samples();
  std::mt19937_64 random(7);
  std::uint64_t time_ns = profile.start_ns();
  for (int i = 0; i < 1'000'000; ++i) {
    const bool runs = random() % 2 == 0;
    const std::uint64_t ns = runs ? 10'101'010 : random() % 20'000'000;
    time_ns += random() % 20'000;
    samples.add_time_ns(time_ns);
    samples.add_raw_weight_ns(ns);
    samples.add_weight_ns(ns);
    samples.add_thread(static_cast<std::uint32_t>(random() % threads));
    samples.add_node(static_cast<std::uint32_t>(random() % nodes) + 1);
    samples.add_state(runs ? v1::STATE_ON_CPU : v1::STATE_BLOCKED);
    samples.add_wait(runs ? v1::WAIT_NONE : v1::WAIT_LOCK);
    samples.add_count(1);
    samples.add_exact(false);
    samples.add_stack_flags(0);
    samples.add_edges(0);
  }
  profile.set_end_ns(time_ns);
  const std::size_t bytes = Written(kHtml, profile).size();
  EXPECT_GT(bytes, 1'000'000u);
  EXPECT_LE(bytes, 10'000'000u);
}

TEST(Html, SaysWhatAFleetHasNotDelivered) {
  v1::Profile profile = testing::LargeProfile(20);
  EXPECT_TRUE(Data(profile).head["notes"].empty());
  v1::NamedCount& other = *profile.add_counters();
  other.set_name("fleet_hosts");
  other.set_text("hosts");
  v1::NamedCount& words = *profile.add_counters();
  words.set_name(std::string(kFleetWords));
  words.set_text("incomplete: 1 host\n<b>");
  EXPECT_EQ(Data(profile).head["notes"], json::array({"incomplete: 1 host?<b>"}));
}

TEST(Html, LargeOrEmptyProfilesAreWritten) {
  EXPECT_THAT(Written(kHtml, testing::EmptyProfile()), HasSubstr("</html>"));
  EXPECT_THAT(Written(kHtml, v1::Profile()), HasSubstr("</html>"));
}

}  // namespace
}  // namespace profd::client
