// FORMAT.md's examples are run as they stand there.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "daemon/base/sqlite/database.h"
#include "tests/support/paths.h"
#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {
namespace {

class FormatTest : public StoreFixture {};

std::vector<std::string> Examples() {
  std::ifstream file(test::SourceDirectory() + "/daemon/store/FORMAT.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> examples;
  for (std::size_t at = 0; (at = text.find("```sql\n", at)) != std::string::npos;) {
    const std::size_t end = text.find("```", at + 7);
    examples.push_back(text.substr(at + 7, end - at - 7));
    at = end;
  }
  return examples;
}

TEST_F(FormatTest, EveryExampleGivesRows) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 14; ++i) {
    auto window = MakeWindow(i);
    for (auto& process : window.processes) process.labels = {{"service.name", "cart"}};
    ASSERT_TRUE(store->Put(window).ok());
  }
  const auto examples = Examples();
  ASSERT_EQ(examples.size(), 6u);
  auto database = Database::Open(options_.path, false, nullptr);
  for (const auto& example : examples) {
    SCOPED_TRACE(example);
    const auto statement = database->Get(example.c_str());
    ASSERT_TRUE(statement.ok()) << statement.error().message;
    const auto row = (*statement)->With().Step();
    ASSERT_TRUE(row.ok());
    EXPECT_TRUE(*row);
    (*statement)->Reset();
  }
}

TEST_F(FormatTest, PlainSqlGivesTheExactClocks) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 13; ++i) ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  std::uint64_t of_process = 0;
  std::uint64_t of_thread = 0;
  for (std::uint64_t i = 0; i < 13; ++i)
    for (const auto& thread : MakeWindow(i).threads) {
      if (thread.process == 1) of_process += thread.clock.on_cpu_ns;
      if (thread.key.tid == 1101 && i < 12) of_thread += thread.clock.on_cpu_ns;  // folded ones
    }
  auto database = Database::Open(options_.path, false, nullptr);
  const auto processes = database->Pragma(
      "SELECT sum(on_cpu_ns) FROM process_time JOIN process ON process.id = process "
      "WHERE comm = 'service-1'");
  const auto threads = database->Pragma(
      "SELECT sum(on_cpu_ns) FROM thread_time JOIN thread ON thread.id = thread WHERE tid = 1101");
  EXPECT_EQ(static_cast<std::uint64_t>(*processes), of_process);
  EXPECT_EQ(static_cast<std::uint64_t>(*threads), of_thread);
}

}  // namespace
}  // namespace profd::store
