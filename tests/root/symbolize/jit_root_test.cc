// Code that node and OpenJDK make while they run has the names that they give it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "tests/support/direct_reader.h"
#include "tests/support/subprocess.h"

namespace profd::symbolize {
namespace {

using profd::testing::Subprocess;

struct Listed {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::string name;
};

std::vector<Listed> ReadMap(pid_t pid) {
  std::ifstream file("/tmp/perf-" + std::to_string(pid) + ".map");
  std::vector<Listed> listed;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Listed one;
    if (!(fields >> std::hex >> one.begin >> one.size)) continue;
    std::getline(fields >> std::ws, one.name);
    listed.push_back(one);
  }
  return listed;
}

// Every listed piece of code that nothing later covers has its name.
void ExpectNames(pid_t pid, const std::string& wanted) {
  const auto listed = ReadMap(pid);
  ASSERT_GT(listed.size(), 100u);
  SystemClock clock;
  test::DirectReaders readers(std::make_unique<JitParser>());
  JitShares shares(clock);
  LiveJitSymbols symbols(readers, clock, shares);
  std::size_t compared = 0;
  bool found = false;
  for (std::size_t i = listed.size() > 2000 ? listed.size() - 2000 : 0; i < listed.size(); ++i) {
    const Listed& one = listed[i];
    bool covered = false;
    for (std::size_t later = i + 1; later < listed.size(); ++later) {
      covered = covered || (listed[later].begin < one.begin + one.size &&
                            one.begin < listed[later].begin + listed[later].size);
    }
    if (covered || one.size == 0 || one.name.empty()) continue;
    const auto symbol = symbols.Find(static_cast<std::uint32_t>(pid), one.begin + one.size - 1);
    ASSERT_TRUE(symbol) << symbol.error().message;
    // It may have gone on writing.
    if (symbol->begin == one.begin && symbol->name != one.name) continue;
    ASSERT_EQ(symbol->name, one.name);
    found = found || one.name.find(wanted) != std::string::npos;
    ++compared;
  }
  EXPECT_GT(compared, 50u);
  EXPECT_TRUE(found) << wanted;
}

TEST(JitRoot, NodeWithBasicProf) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (profd::testing::Run({"sh", "-c", "node --version"}).exit_code != 0)
    GTEST_SKIP() << "needs node";
  // Where it cannot write to the folder in which it stands, it makes no map at all.
  auto node = Subprocess::Start(
      {"sh", "-c", "cd /tmp && exec node \"$@\"", "sh", "--perf-basic-prof", "-e",
       "function hotPuppet(n) { let s = 0; for (let i = 0; i < n; ++i) s += i % 7; return s; }"
       "let sum = 0; for (let k = 0; k < 3000; ++k) sum += hotPuppet(20000);"
       "console.log('ready'); setInterval(() => { sum += hotPuppet(1000); }, 1000);"});
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_TRUE(node->ReadLine());
  ExpectNames(node->pid(), "hotPuppet");
  std::remove(("/tmp/perf-" + std::to_string(node->pid()) + ".map").c_str());
}

TEST(JitRoot, OpenJdkThroughJcmd) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (profd::testing::Run({"sh", "-c", "java -version && jcmd -h"}).exit_code != 0)
    GTEST_SKIP() << "needs java and jcmd (openjdk-17-jdk)";
  const std::string source = "/tmp/ProfdHotPuppet.java";
  std::ofstream(source) << "public class ProfdHotPuppet {\n"
                           "  static long hotPuppet(int n) { long s = 0;"
                           " for (int i = 0; i < n; ++i) s += i % 7; return s; }\n"
                           "  public static void main(String[] a) throws Exception { long s = 0;"
                           " for (int k = 0; k < 30000; ++k) s += hotPuppet(10000);"
                           " System.out.println(\"ready \" + s); Thread.sleep(600000); } }\n";
  auto java = Subprocess::Start({"java", source});
  ASSERT_TRUE(java) << java.error().message;
  ASSERT_TRUE(java->ReadLine());
  const auto written =
      profd::testing::Run({"jcmd", std::to_string(java->pid()), "Compiler.perfmap"});
  std::remove(source.c_str());
  ASSERT_EQ(written.exit_code, 0) << written.err;
  ExpectNames(java->pid(), "hotPuppet");
  std::remove(("/tmp/perf-" + std::to_string(java->pid()) + ".map").c_str());
}

}  // namespace
}  // namespace profd::symbolize
