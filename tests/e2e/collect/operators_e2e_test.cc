// Operators and phases: their shares in a profile of a program whose functions have the names of a
// framework's, against the clocks of that program.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bpf/shared/events.h"
#include "client/profile/operators/operators.h"
#include "client/profile/spinning.h"
#include "tests/accuracy/statistics.h"
#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

constexpr const char* kNone = "-";

using Shares = std::map<std::string, double>;

// CPU time by "phase", by "operator" and by both, "phase operator": of the threads that the program
// keeps clocks of.
struct Truth {
  Shares shares;
  std::map<std::uint32_t, bool> tids;
};

Truth TruthOf(const std::string& text) {
  const auto document = nlohmann::json::parse(text);
  Truth truth;
  std::map<std::string, double> ns;
  double all = 0;
  for (const auto& thread : document["threads"]) {
    truth.tids[thread["tid"]] = true;
    all += thread["cpu_ns"].get<double>() - thread["cpu_at_begin_ns"].get<double>();
    for (const auto& phase : thread["phases"])
      ns[phase["function"]] += phase["cpu_ns"].get<double>();
  }
  ns["forward aten::linear"] -= ns["forward aten::mm"];  // the clock of one runs in the other
  for (const auto& [both, its] : ns) {
    const std::size_t space = both.find(' ');
    truth.shares[both] += its / all;
    truth.shares["phase " + both.substr(0, space)] += its / all;
    truth.shares["operator " + both.substr(space + 1)] += its / all;
  }
  return truth;
}

class OperatorsTest : public ProfctlTest {
 protected:
  void Collect(const std::string& name, std::string& out,
               const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{
        "collect",   "-q", "--budget", "off", "-F",
        "997",       "-o", File(name), "--",  TestProgram("operators"),
        "--seconds", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(std::move(arguments));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    out = outcome.out;
  }
};

TEST_F(OperatorsTest, SharesAreThoseOfTheProgramsOwnClocks) {
  std::string out;
  ASSERT_NO_FATAL_FAILURE(Collect("x.json", out));
  const Truth truth = TruthOf(out);
  ASSERT_EQ(truth.tids.size(), 3u);
  const v1::Profile profile = ReadProfile(File("x.json"));
  const client::Operators operators(profile);
  ASSERT_FALSE(operators.empty());
  Shares measured;
  accuracy::Weights all;
  double cut = 0;
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (samples.state(i) != v1::STATE_ON_CPU) continue;
    const auto& thread = profile.threads(static_cast<int>(samples.thread(i)));
    if (!truth.tids.contains(thread.tid()) || samples.count(i) == 0) continue;
    EXPECT_FALSE(client::IsSpinning(profile, i));
    all.Add(samples.weight_ns(i), samples.count(i));
    // What stands below the end of a stack that is cut is not known: tables are not ready at once.
    if ((samples.stack_flags(i) & PROFD_STACK_COMPLETE) == 0) {
      cut += static_cast<double>(samples.weight_ns(i));
      continue;
    }
    const auto op = operators.OperatorOf(i);
    const std::string name = op ? operators.names()[*op] : kNone;
    const auto phase = client::PhaseName(operators.PhaseOf(i));
    const std::string part = phase.empty() ? kNone : std::string(phase);
    for (const std::string& key : {part + " " + name, "phase " + part, "operator " + name})
      measured[key] += static_cast<double>(samples.weight_ns(i));
  }
  ASSERT_GT(all.sum, 0);
  EXPECT_LT(cut, all.sum / 2) << "what is known must be most of it";
  int known = 0;
  for (const auto& [key, share] : truth.shares) {
    const double found = measured[key] / all.sum;
    const double bound = accuracy::ShareBound(share, all.EffectiveSamples());
    const std::string words = key + ": " + std::to_string(found) + ", it was " +
                              std::to_string(share) + "; " + std::to_string(cut / all.sum) +
                              " cut, " + std::to_string(all.EffectiveSamples()) + " samples";
    EXPECT_LE(found, share + bound) << words;
    EXPECT_GE(found + cut / all.sum, share - bound) << words;
    if (share > 0.01) ++known;
  }
  EXPECT_GE(known, 20) << "parts that are large enough to be wrong";
  RecordProperty("samples", static_cast<int>(all.EffectiveSamples()));
  RecordProperty("cut_per_mille", static_cast<int>(1000 * cut / all.sum));
}

TEST_F(OperatorsTest, TheTableNamesMostOfTheWork) {
  std::string out;
  ASSERT_NO_FATAL_FAILURE(Collect("x.json", out));
  const v1::Profile profile = ReadProfile(File("x.json"));
  const client::Operators operators(profile);
  const client::OperatorTable table = client::TableOf(profile, operators);
  std::map<std::string, client::OperatorRow> rows;
  for (const client::OperatorRow& row : table.rows)
    rows[row.op ? operators.names()[*row.op] : kNone] = row;
  // Of chains, each operator has the time of all below it.
  for (const char* name : {"aten::mm", "aten::linear", "MmBackward0", "blas.sgemm"})
    ASSERT_TRUE(rows.contains(name)) << name;
  EXPECT_GT(rows["aten::linear"].total_working_ns, rows["aten::linear"].self.working_ns);
  EXPECT_LT(rows["MmBackward0"].self.working_ns, rows["MmBackward0"].total_working_ns / 10)
      << "aten::mm has it";
  // aten::mm has it, but where a stack ends below: at the begin, before tables are ready.
  std::uint64_t cut_ns = 0;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    const auto op = operators.OperatorOf(i);
    if (!op || operators.names()[*op] != "blas.sgemm") continue;
    EXPECT_EQ(profile.samples().stack_flags(i) & PROFD_STACK_COMPLETE, 0u) << i;
    if (profile.samples().state(i) == v1::STATE_ON_CPU) cut_ns += profile.samples().weight_ns(i);
  }
  EXPECT_EQ(rows["blas.sgemm"].self.working_ns, cut_ns);
  EXPECT_GT(rows["blas.sgemm"].total_working_ns, 10 * cut_ns);
  EXPECT_GT(rows["(parallel worker)"].self.working_ns, 0u);
  std::uint64_t sum = 0;
  for (const auto& [name, row] : rows) sum += row.self.working_ns;
  EXPECT_EQ(sum, table.working_ns);
  EXPECT_LT(table.named_ns, table.working_ns - rows["(parallel worker)"].self.working_ns);
  EXPECT_GT(table.named_ns, table.working_ns / 2);
}

TEST_F(OperatorsTest, WorkOfAPoolIsForTheOperatorWhoseRegionItIs) {
  std::string out;
  ASSERT_NO_FATAL_FAILURE(Collect("x.json", out, {"--regions"}));
  const v1::Profile profile = ReadProfile(File("x.json"));
  const client::Operators operators(profile);
  const client::OperatorTable table = client::TableOf(profile, operators);
  std::map<std::string, client::OperatorRow> rows;
  for (const client::OperatorRow& row : table.rows)
    rows[row.op ? operators.names()[*row.op] : kNone] = row;
  const auto of_workers = static_cast<double>(rows["(parallel worker)"].self.working_ns);
  ASSERT_GT(of_workers, 0);
  const double found = static_cast<double>(rows["aten::addmm"].workers_ns) / of_workers;
  // A region and what follows last 30 ms. The leader's nearest sample may be of what follows where
  // a sample lies less than two periods from a border of the region: of 30 ms, at 997 Hz, 4 ms.
  constexpr double kBorders = 4.0 / 30;
  EXPECT_GE(found, 1 - kBorders -
                       accuracy::ShareBound(
                           kBorders, static_cast<double>(rows["(parallel worker)"].self.samples)));
  EXPECT_EQ(rows["aten::mul_"].workers_ns, 0u) << "it leads no region";
  EXPECT_EQ(rows["(parallel worker)"].workers_ns, 0u);
  RecordProperty("found", std::to_string(found));
  const auto report = Profctl({"report", File("x.json"), "--by", "operator"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_NE(report.out.find("with workers"), std::string::npos) << report.out;
}

// Rules of the user's own are those of the daemon that the profile comes from.
TEST_F(OperatorsTest, AFileOfTheUserNamesOthers) {
  const std::string rules = File("r.toml");
  std::ofstream(rules) << "[[operator]]\nname = 'mine.{op}'\nfunction = 'user_(?P<op>\\w+)'\n"
                          "[[phase]]\nname = 'communication'\nfunction = 'user_code'\n";
  options_.environment["PROFD_RULES_FILE"] = rules;
  std::string out;
  ASSERT_NO_FATAL_FAILURE(Collect("x.json", out));
  const v1::Profile profile = ReadProfile(File("x.json"));
  const client::Operators operators(profile);
  const client::OperatorTable table = client::TableOf(profile, operators);
  const auto row = std::ranges::find_if(table.rows, [&](const client::OperatorRow& its) {
    return its.op && operators.names()[*its.op] == "mine.code";
  });
  ASSERT_NE(row, table.rows.end());
  EXPECT_GT(row->self.working_ns, 0u);
  EXPECT_TRUE(std::ranges::any_of(table.phases, [](const client::PhaseRow& its) {
    return its.phase == v1::PHASE_COMMUNICATION && its.time.working_ns > 0;
  }));
}

}  // namespace
}  // namespace profd::e2e
