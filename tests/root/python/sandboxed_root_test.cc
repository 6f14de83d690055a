// Interpreters and code objects, read by readers as profd has them: with no right, and few system
// calls.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/python/code/code_reader.h"
#include "daemon/python/feed/python_remote.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"
#include "tests/root/python/truth_program.h"
#include "tests/support/interpreters.h"

namespace profd::python {
namespace {

constexpr std::chrono::milliseconds kPatience{60'000};

class SandboxedTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    interpreters_ = test::FindInterpreters(GetParam());
    if (interpreters_.empty()) GTEST_SKIP() << "no CPython 3." << GetParam() << " is installed";
    auto zygote = reader::Zygote::Start(
        {{"test-python", {}, [] { return std::make_unique<PythonParser>(); }}});
    ASSERT_TRUE(zygote) << zygote.error().message;
    zygote_ = *std::move(zygote);
    pool_ = std::make_unique<reader::ReaderPool>(
        *zygote_, 0, reader::ReaderPool::Options{.deadline = kPatience});
  }
  std::vector<std::string> interpreters_;
  std::unique_ptr<reader::Zygote> zygote_;
  std::unique_ptr<reader::ReaderPool> pool_;
};

TEST_P(SandboxedTest, AttachesAndReadsWhatTheInterpreterHas) {
  for (const std::string& interpreter : interpreters_) {
    SCOPED_TRACE(interpreter);
    const auto program = test::TruthProgram::Start(interpreter);
    ASSERT_TRUE(program) << program.error().message;
    const ProcessKey process{program->pid(), 0};
    PythonClient client(*pool_);
    const auto found = client.Find(process, 0, {}, kPatience);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 1u);
    const std::vector mapping{found->front().mapping};
    const auto again = client.Find(process, 0, mapping, kPatience);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->size(), 1u);
    const auto attached = client.Attach(process, 0, found->front(), kPatience);
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_EQ(attached->layout.version, program->truth()["version"].get<std::uint32_t>());
    const auto direct = program->Attach();
    ASSERT_TRUE(direct) << direct.error().message;
    EXPECT_EQ(attached->runtime, direct->runtime);
    EXPECT_EQ(attached->layout.process.slot, direct->layout.process.slot);
    client.Touch(process, 0, *attached, kPatience);

    CodeReader reader(program->memory(), attached->layout);
    const auto& codes = program->truth()["codes"];
    std::vector<CodeQuery> queries;
    for (const auto& code : codes) {
      const auto address = code["code"].get<std::uint64_t>();
      queries.push_back({address, reader.Validate(address).value_or(0), 0});
    }
    const std::vector versions{attached->version};
    const auto answers = client.Read(process, 0, versions, queries, kPatience);
    ASSERT_TRUE(answers) << answers.error().message;
    ASSERT_EQ(answers->size(), codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto& text = (*answers)[i].text;
      ASSERT_TRUE(text) << codes[i]["name"];
      EXPECT_EQ(text->name, codes[i]["name"].get<std::string>());
      EXPECT_EQ(text->file, codes[i]["file"].get<std::string>());
      EXPECT_EQ(text->first_line, codes[i]["first"].get<std::int32_t>());
    }
    // Without a validator the answer says which one it is; with a wrong one there is none.
    queries.resize(2);
    const std::uint32_t validator = queries[0].validator;
    queries[0].validator = 0;
    queries[1].validator ^= 1;
    const auto others = client.Read(process, 1, versions, queries, kPatience);
    ASSERT_TRUE(others) << others.error().message;
    EXPECT_EQ(others->front().validator, validator);
    EXPECT_TRUE(others->front().text);
    EXPECT_FALSE(others->back().text);
  }
  EXPECT_EQ(pool_->counters().ended.value(), 0u);
  EXPECT_EQ(pool_->counters().started.value(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Cpython, SandboxedTest, ::testing::ValuesIn(test::WantedMinors()),
                         [](const auto& minor) { return "Minor" + std::to_string(minor.param); });

}  // namespace
}  // namespace profd::python
