#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;

const Exporter kCsv = **ExporterByName("csv");

using Row = std::map<std::string, std::string>;  // by column

// RFC 4180, with newlines alone.
std::vector<Row> Read(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      lines.back().back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      lines.back().emplace_back();
    } else if (!quoted && c == '\n') {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  lines.pop_back();
  std::vector<Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size());
    Row& row = rows.emplace_back();
    for (std::size_t at = 0; at < lines[0].size(); ++at) row[lines[0][at]] = lines[i][at];
  }
  return rows;
}

std::vector<Row> Rows(const v1::Profile& profile) { return Read(Written(kCsv, profile)); }

std::uint64_t Sum(const std::vector<Row>& rows, const std::string& column) {
  std::uint64_t sum = 0;
  for (const Row& row : rows) sum += std::stoull(row.at(column));
  return sum;
}

TEST(Csv, MatchesItsGolden) { ExpectGolden(Written(kCsv, testing::SmallProfile()), "small.csv"); }

TEST(Csv, ARowPerStackThreadAndState) {
  const auto rows = Rows(testing::SmallProfile());
  ASSERT_EQ(rows.size(), 5u);  // both times of compute are one
  const Row& first = rows[0];
  EXPECT_EQ(first.at("process") + " " + first.at("pid"), "demo 4242");
  EXPECT_EQ(first.at("state"), "working");
  EXPECT_EQ(first.at("samples") + " " + first.at("ns"), "168 1680000000");
  EXPECT_EQ(first.at("function"), "compute");
  EXPECT_EQ(first.at("module"), "/usr/bin/demo");
  EXPECT_EQ(first.at("stack"), "_start;main;compute");
  EXPECT_EQ(rows[1].at("thread") + " " + rows[1].at("tid"), "worker 4243");
  EXPECT_EQ(rows[1].at("state") + " " + rows[1].at("wait"), "blocked sleep");
}

TEST(Csv, RowsAddUpToTheProfile) {
  for (const v1::Profile& profile :
       {testing::SmallProfile(), testing::TypicalProfile(), testing::LargeProfile(3000),
        testing::SpinningProfile(), testing::WaitingProfile(), testing::HostileProfile()}) {
    const auto rows = Rows(profile);
    const auto& weights = profile.samples().weight_ns();
    const auto& counts = profile.samples().count();
    EXPECT_EQ(Sum(rows, "ns"), std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    EXPECT_EQ(Sum(rows, "samples"),
              std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    for (std::size_t i = 1; i < rows.size(); ++i)
      EXPECT_GE(std::stoull(rows[i - 1].at("ns")), std::stoull(rows[i].at("ns")));
  }
  EXPECT_TRUE(Rows(testing::EmptyProfile()).empty());
}

TEST(Csv, ColumnsSayWhatSpinsWhatIsWaitedForAndWhatAFrameworkRan) {
  std::map<std::string, std::uint64_t> by_class;
  for (const Row& row : Rows(testing::SpinningProfile()))
    by_class[row.at("state") + " " + row.at("class")] += std::stoull(row.at("ns")) / 1'000'000;
  EXPECT_EQ(by_class, (std::map<std::string, std::uint64_t>{{"blocked ", 2950},
                                                            {"spinning gpu-wait", 100},
                                                            {"spinning spin", 300},
                                                            {"working ", 600},
                                                            {"working runtime", 50}}));
  std::map<std::string, std::uint64_t> by_path;
  for (const Row& row : Rows(testing::WaitingProfile()))
    if (!row.at("waits_for").empty())
      by_path[row.at("waits_for") + ": " + row.at("path")] += std::stoull(row.at("ns")) / 1'000'000;
  EXPECT_EQ(by_path,
            (std::map<std::string, std::uint64_t>{{"engine-worker: engine-worker", 620},
                                                  {"engine-worker: engine-worker < the disk", 210},
                                                  {"store/io-*: store/io-*", 42}}));
  const auto operators = Rows(testing::OperatorProfile());
  EXPECT_EQ(operators[0].at("operator") + " " + operators[0].at("phase"), "aten::linear forward");
  EXPECT_EQ(operators[1].at("operator"), "");
}

TEST(Csv, LabelsDistinguishRows) {
  const std::string text = Written(kCsv, testing::LabelledProfile());
  EXPECT_NE(text.find("\"phase=load, step=2\""), std::string::npos) << text;
  EXPECT_NE(text.find(",step=1,"), std::string::npos) << text;
}

TEST(Csv, PythonHasItsFileAndLine) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "t"), {"main", "fit (a, \"b\".py:31)"});
  const Row row = Rows(maker.Make()).at(0);
  EXPECT_EQ(row.at("function"), "fit (a, \"b\".py:31)");
  EXPECT_EQ(row.at("file"), "/srv/app/a, \"b\".py");
  EXPECT_EQ(row.at("line"), "31");
  EXPECT_EQ(row.at("stack"), "main;fit (a, \"b\".py:31)");
}

TEST(Csv, HardwareCountsAreColumnsWhereThereAreSome) {
  std::uint64_t cycles = 0;
  for (const Row& row : Rows(testing::CountedProfile())) {
    cycles += std::stoull(row.at("cycles"));
    if (row.at("function") == "chase") {
      EXPECT_EQ(row.at("counted_ns"), "300000000");
      EXPECT_EQ(row.at("instructions"), "112500000");
      EXPECT_EQ(row.at("cache_misses"), "22500000");
    }
  }
  EXPECT_EQ(cycles, 3'000'000'000u);
  EXPECT_FALSE(Rows(testing::SmallProfile()).at(0).contains("cycles"));
}

TEST(Csv, NoTextIsAFormula) {
  for (const std::string begin : {"=", "+", "-", "@", "\t=", "\r=", "\xEF\xBC\x9D"}) {
    ProfileMaker maker;
    const std::string name = begin + "cmd|' /C calc'!A0";
    maker.Add(maker.AddThread(1, name), {name, name});
    maker.profile().mutable_processes(0)->set_comm(name);
    const Row row = Rows(maker.Make()).at(0);
    for (const auto& [column, value] : row) {
      EXPECT_TRUE(value.empty() || std::string_view("=+-@\t\r").find(value[0]) == std::string::npos)
          << column << ": " << value;
      EXPECT_FALSE(value.starts_with("\xEF\xBC\x9D")) << column;
    }
  }
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "-bash"), {"main"});
  EXPECT_EQ(Rows(maker.Make()).at(0).at("thread"), "'-bash");
}

TEST(Csv, HostileNamesStayInTheirCells) {
  const std::string text = Written(kCsv, testing::HostileProfile());
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            testing::HostileNames().size() + 1);
  EXPECT_EQ(Read(text).size(), testing::HostileNames().size());
}

}  // namespace
}  // namespace profd::client
