// Every interpreter that is found runs truth.py; what is read from its memory must be what it said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/python/code/code_reader.h"
#include "daemon/python/code/layout.h"
#include "daemon/python/code/line_table.h"
#include "daemon/python/find/attachment.h"
#include "tests/root/python/truth_program.h"
#include "tests/support/interpreters.h"

namespace profd::python {
namespace {

using nlohmann::json;

// The walk of bpf/stack/python.bpf.h, by the same numbers, without anchors.
class Walk {
 public:
  Walk(ProcessMemory memory, const Layout& layout) : memory_(memory), layout_(layout) {}

  struct Frame {
    std::uint64_t code = 0;
    std::uint32_t instruction = 0;
  };

  [[nodiscard]] std::uint64_t StateOf(std::uint64_t thread_pointer) const {
    std::uint64_t state = Word(thread_pointer + static_cast<std::uint64_t>(at().slot));
    if (at().slot_inner != 0) state = Word(state + at().slot_inner - 1);
    return state != 0 && Word(state + at().thread_id) == thread_pointer ? state : 0;
  }

  // Anchors are counted.
  [[nodiscard]] std::vector<Frame> FramesOf(std::uint64_t state, std::size_t* anchors) const {
    std::vector<Frame> frames;
    std::uint64_t frame = Word(state + at().current);
    std::uint64_t cframe = 0;
    if (at().chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES) {
      cframe = frame;
      frame = Word(state + at().first_frame);
    } else if (at().chain == PROFD_PYTHON_ENTRY_FLAGS ||
               at().chain == PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME) {
      cframe = frame;
      frame = Word(cframe + at().cframe_current);
    }
    for (; frame != 0 && frames.size() < 100; frame = Word(frame + at().frame_previous)) {
      const auto owner = static_cast<std::uint8_t>(Word(frame + at().frame_owner));
      if (at().chain >= PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME &&
          owner >= PROFD_PYTHON_OWNED_BY_INTERPRETER) {
        ++*anchors;
        continue;
      }
      const std::uint64_t code = Word(frame + at().frame_code) & ~std::uint64_t{at().code_mask};
      std::uint64_t instruction = Word(frame + at().frame_instruction);
      if (at().chain > PROFD_PYTHON_OBJECTS_AND_CFRAMES)
        instruction -= code + at().code_instructions;
      frames.push_back({code, static_cast<std::uint32_t>(instruction)});
      if (at().chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES ||
          (at().chain == PROFD_PYTHON_ENTRY_FLAGS && owner != 0)) {
        *anchors += cframe != 0 ? 1 : 0;
        cframe = Word(cframe + at().cframe_previous);
      }
    }
    return frames;
  }

 private:
  [[nodiscard]] const profd_python_process& at() const { return layout_.process; }
  [[nodiscard]] std::uint64_t Word(std::uint64_t address) const {
    std::uint64_t word = 0;
    return memory_.Get(address, &word) ? word : 0;
  }
  ProcessMemory memory_;
  const Layout& layout_;
};

class AttachmentTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    interpreters_ = test::FindInterpreters(GetParam());
    if (interpreters_.empty()) GTEST_SKIP() << "no CPython 3." << GetParam() << " is installed";
  }
  std::vector<std::string> interpreters_;
};

TEST_P(AttachmentTest, FindsTheVersionAndTheGil) {
  for (const std::string& interpreter : interpreters_) {
    SCOPED_TRACE(interpreter);
    const auto program = test::TruthProgram::Start(interpreter);
    ASSERT_TRUE(program) << program.error().message;
    const auto attached = program->Attach();
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_EQ(attached->layout.version, program->truth()["version"].get<std::uint32_t>());
    EXPECT_TRUE(attached->certain);
    EXPECT_NE(attached->layout.process.gil, 0u);
    EXPECT_GT(attached->module.end, attached->module.begin);
    // All threads wait: none holds it.
    std::int32_t locked = -1;
    const profd_python_process& process = attached->layout.process;
    EXPECT_TRUE(program->memory().Get(process.gil + process.gil_locked, &locked));
    EXPECT_EQ(locked, 0);
  }
}

TEST_P(AttachmentTest, BlockedThreadsHaveTheirFramesAndLines) {
  for (const std::string& interpreter : interpreters_) {
    SCOPED_TRACE(interpreter);
    const auto program = test::TruthProgram::Start(interpreter);
    ASSERT_TRUE(program) << program.error().message;
    const auto attached = program->Attach();
    ASSERT_TRUE(attached) << attached.error().message;
    const Walk walk(program->memory(), attached->layout);
    CodeReader reader(program->memory(), attached->layout);
    ASSERT_EQ(program->truth()["threads"].size(), 3u);
    for (const json& thread : program->truth()["threads"]) {
      const std::uint64_t state = walk.StateOf(thread["ident"].get<std::uint64_t>());
      ASSERT_NE(state, 0u);
      std::size_t anchors = 0;
      const auto frames = walk.FramesOf(state, &anchors);
      const json& chain = thread["chain"];
      ASSERT_EQ(frames.size(), chain.size());
      EXPECT_EQ(anchors > 0, attached->layout.process.chain != PROFD_PYTHON_OBJECTS);
      for (std::size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(frames[i].code, chain[i]["code"].get<std::uint64_t>());
        const auto validator = reader.Validate(frames[i].code);
        ASSERT_TRUE(validator);
        const auto code = reader.Read(frames[i].code, *validator);
        ASSERT_TRUE(code) << code.error().message;
        EXPECT_EQ(code->name, chain[i]["name"].get<std::string>());
        EXPECT_EQ(code->file, chain[i]["file"].get<std::string>());
        EXPECT_EQ(
            LineOf(attached->layout.version, code->first_line, code->lines, frames[i].instruction),
            chain[i]["line"].get<std::uint32_t>())
            << "frame " << i << ' ' << code->name << " at " << frames[i].instruction;
      }
    }
  }
}

TEST_P(AttachmentTest, CodeObjectsReadAsTheirInterpreterHasThem) {
  for (const std::string& interpreter : interpreters_) {
    SCOPED_TRACE(interpreter);
    const auto program = test::TruthProgram::Start(interpreter);
    ASSERT_TRUE(program) << program.error().message;
    const auto attached = program->Attach();
    ASSERT_TRUE(attached) << attached.error().message;
    const std::uint32_t version = attached->layout.version;
    const bool in_units = version >> 16 == 0x030a;
    CodeReader reader(program->memory(), attached->layout);
    std::uint64_t instructions = 0;
    std::uint64_t wrong = 0;
    for (const json& truth : program->truth()["codes"]) {
      const auto address = truth["code"].get<std::uint64_t>();
      const auto validator = reader.Validate(address);
      ASSERT_TRUE(validator);
      const auto code = reader.Read(address, *validator);
      ASSERT_TRUE(code) << code.error().message << ": " << truth["name"];
      ASSERT_EQ(code->name, truth["name"].get<std::string>());
      ASSERT_EQ(code->qualname, truth["qualname"].get<std::string>());
      ASSERT_EQ(code->file, truth["file"].get<std::string>());
      ASSERT_EQ(code->first_line, truth["first"].get<std::int32_t>());
      EXPECT_EQ(reader.Read(address, *validator ^ 1).error().code, ErrorCode::kCorrupt);
      std::uint32_t line = 0;
      std::size_t next = 0;
      for (std::uint32_t at = 0; at < truth["bytes"].get<std::uint32_t>(); at += 2) {
        if (next < truth["lines"].size() && truth["lines"][next][0].get<std::uint32_t>() == at)
          line = truth["lines"][next++][1].get<std::uint32_t>();
        const std::uint32_t have =
            LineOf(version, code->first_line, code->lines, in_units ? at / 2 : at);
        ++instructions;
        if (have != line && ++wrong <= 5)
          ADD_FAILURE() << code->name << " at " << at << ": " << have << " instead of " << line;
      }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(instructions, 50'000u);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpython, AttachmentTest, ::testing::ValuesIn(test::WantedMinors()),
                         [](const auto& minor) { return "Minor" + std::to_string(minor.param); });

}  // namespace
}  // namespace profd::python
