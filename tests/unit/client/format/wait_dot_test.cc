#include "client/format/wait_dot.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/golden.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;

std::string Dot(const v1::Profile& profile) { return WaitDot(profile, WaitTable::Of(profile)); }

TEST(WaitDot, MatchesItsGolden) {
  test::ExpectGolden(Dot(testing::WaitingProfile()), "export/waiting.dot");
}

TEST(WaitDot, KnotsStandInAFrame) {
  ProfileMaker maker;
  const auto a = maker.AddThread(1, "a");
  const auto b = maker.AddThread(2, "b");
  maker.Add(
      a, {"f"},
      Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({{.thread = maker.AddPathThread(2, "b")}})));
  maker.Add(
      b, {"f"},
      Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({{.thread = maker.AddPathThread(1, "a")}})));
  const std::string dot = Dot(maker.Make());
  EXPECT_NE(dot.find("subgraph cluster_0 {\n    label=\"wait for each other\""), std::string::npos)
      << dot;
}

// The text without what stands in quotes; fails where a quote is not closed.
std::string Outside(const std::string& dot) {
  std::string outside;
  bool quoted = false;
  for (std::size_t i = 0; i < dot.size(); ++i) {
    if (quoted && dot[i] == '\\')
      ++i;
    else if (dot[i] == '"')
      quoted = !quoted;
    else if (!quoted)
      outside += dot[i];
  }
  EXPECT_FALSE(quoted) << dot;
  return outside;
}

TEST(WaitDot, HostileNamesStayInsideTheirLabels) {
  std::vector<std::string> names = testing::HostileNames();
  for (const char* name : {"\"", "\\", "a\\\"b", "x\"]; g9 -> g9 [label=\"", "\n\r\n", "&lt;b&gt;",
                           "<script>alert(1)</script>", "\\N\\G", "\xE2\x98\x83"})
    names.emplace_back(name);
  for (const std::string& name : names) {
    const auto dot_of = [](const std::string& called) {
      ProfileMaker maker;
      const auto process = maker.AddProcess(7, called, called);
      const auto thread = maker.AddThread(8, called, process);
      const auto path =
          maker.AddPath({{.thread = maker.AddPathThread(9, "w" + called, 10, "v" + called)}});
      maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 10, 1, path));
      return Dot(maker.Make());
    };
    EXPECT_EQ(Outside(dot_of(name)), Outside(dot_of("plain"))) << name;
  }
}

TEST(WaitDot, WithoutWaitsItIsAnEmptyGraph) {
  const std::string dot = Dot(testing::EmptyProfile());
  EXPECT_EQ(dot.find("->"), std::string::npos);
  EXPECT_TRUE(dot.ends_with("}\n"));
}

}  // namespace
}  // namespace profd::client
