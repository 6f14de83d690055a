// Real programs publish labels; the finder says where, and the code of the BPF side reads them
// there.
#include "daemon/labels/label_finder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/process/label_record.h"
#include "tests/bpf_user/bpf_as_user.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::labels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::Subprocess;

std::string Fixture(const std::string& name) {
  return test::BinaryDirectory() + "/tests/labels/" + name;
}

class LabelFinderTest : public ::testing::Test {
 protected:
  Subprocess Start(const std::vector<std::string>& command) {
    auto program = Subprocess::Start(command);
    EXPECT_TRUE(program) << program.error().message;
    const auto said = program->ReadLine();
    EXPECT_TRUE(said) << said.error().message;
    thread_pointer_ = said ? std::stoull(*said) : 0;
    return *std::move(program);
  }

  LabelFacts Find(const Subprocess& program) {
    const auto facts = finder_.Find(opener_, static_cast<std::uint32_t>(program.pid()));
    EXPECT_TRUE(facts) << facts.error().message;
    EXPECT_TRUE(facts && *facts) << "it publishes no labels";
    return facts && *facts ? **facts : LabelFacts{};
  }

  // The labels of the program's thread, as the BPF side reads them.
  process::LabelRecord Read(const Subprocess& program, const LabelFacts& facts) {
    const UniqueFd memory(
        ::open(("/proc/" + std::to_string(program.pid()) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    int fd = memory.get();
    user_reset();
    user_control()->label_processes = 1;
    user_control()->requested_sessions = 1;
    user_set_memory(
        [](void* of, void* to, __u32 bytes, __u64 from) -> long {
          const auto got = ::pread(*static_cast<int*>(of), to, bytes, static_cast<off_t>(from));
          return got == static_cast<ssize_t>(bytes) ? 0 : -14;
        },
        &fd);
    const auto pid = static_cast<std::uint32_t>(program.pid());
    user_set_labels(pid, &facts.variable);
    profd_sample_event event{};
    event.event.pid = pid;
    event.event.sessions = 1;
    std::string record(PROFD_MAX_LABEL_BYTES, '\0');
    user_read_labels(&event, thread_pointer_, 0, record.data());
    return process::ParseLabelRecord(std::string_view(record).substr(0, event.label_bytes));
  }

  reader::Opener opener_;
  LabelFinder finder_;
  std::uint64_t thread_pointer_ = 0;
};

TEST_F(LabelFinderTest, InTheProgramItself) {
  const auto program = Start({Fixture("labelled_program")});
  const auto facts = Find(program);
  EXPECT_EQ(facts.refused, "");
  EXPECT_THAT(facts.keys, ElementsAre("step", "phase"));
  EXPECT_THAT(Read(program, facts).attributes, ElementsAre(Pair(0, "17"), Pair(1, "load")));
}

TEST_F(LabelFinderTest, InALibraryHoweverItIsLinked) {
  for (const char* access : {"descriptor", "index", "offset"}) {
    SCOPED_TRACE(access);
    const auto program =
        Start({Fixture("labelled"), Fixture("published_" + std::string(access) + ".so")});
    const auto facts = Find(program);
    EXPECT_EQ(facts.refused, "");
    EXPECT_THAT(facts.keys, ElementsAre("step", "phase"));
    EXPECT_THAT(Read(program, facts).attributes, ElementsAre(Pair(0, "17"), Pair(1, "load")));
  }
}

TEST_F(LabelFinderTest, ATraceStandsBesideTheLabels) {
  auto program = Start({Fixture("labelled_program")});
  EXPECT_EQ(Read(program, Find(program)).trace_id, "");
  program.WriteInput("trace\n");
  ASSERT_TRUE(program.ReadLine());
  const auto record = Read(program, Find(program));
  EXPECT_EQ(record.trace_id, "010000000000000000000000000000fe");
  EXPECT_EQ(record.span_id, "000000000000000a");
  EXPECT_THAT(record.attributes, ElementsAre(Pair(0, "17"), Pair(1, "load")));
}

TEST_F(LabelFinderTest, NamesThatComeLater) {
  auto program = Start({Fixture("labelled_program")});
  program.WriteInput("route\n");
  ASSERT_TRUE(program.ReadLine());
  EXPECT_THAT(Find(program).keys, ElementsAre("step", "phase", "route"));
  for (int i = 0; i < 300; ++i) {
    program.WriteInput(std::string(80, 'x') + std::to_string(i) + "\n");
    ASSERT_TRUE(program.ReadLine());
  }
  const auto keys = Find(program).keys;
  EXPECT_GT(keys.size(), 100u) << "as many as fit";
  EXPECT_EQ(keys[0], "step");
}

TEST_F(LabelFinderTest, AProcessThatPublishesNone) {
  auto program = Subprocess::Start({"cat"});
  ASSERT_TRUE(program) << program.error().message;
  const auto facts = finder_.Find(opener_, static_cast<std::uint32_t>(program->pid()));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_FALSE(*facts);
}

TEST_F(LabelFinderTest, AProcessThatIsGone) {
  std::uint32_t pid = 0;
  {
    auto program = Subprocess::Start({"true"});
    ASSERT_TRUE(program) << program.error().message;
    pid = static_cast<std::uint32_t>(program->pid());
    (void)program->Wait();
  }
  const auto facts = finder_.Find(opener_, pid);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kNotFound);
}

// What an interpreter does before the library with the variable is loaded, or where none is.
TEST_F(LabelFinderTest, AContextWithoutTheVariable) {
  auto program = Subprocess::Start(
      {"/usr/bin/python3", test::SourceDirectory() + "/tests/unit/labels/context_alone.py"});
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_TRUE(program->ReadLine());
  EXPECT_THAT(Find(*program).refused, HasSubstr("no mapped file defines otel_thread_ctx_v1"));
  program->WriteInput("other schema\n");
  ASSERT_TRUE(program->ReadLine());
  EXPECT_THAT(Find(*program).refused, HasSubstr("in a way that profd does not know"));
  program->WriteInput("being written\n");
  ASSERT_TRUE(program->ReadLine());
  const auto facts = finder_.Find(opener_, static_cast<std::uint32_t>(program->pid()));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace profd::labels
