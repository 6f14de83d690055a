// Code objects without versions: how one is distinguished from another one in the same memory.
#include <set>
#include <string>

#include "tests/bpf_user/python/python_world.h"

namespace profd {
namespace {

using ::testing::ElementsAre;

class PythonTextTest : public PythonWalkTest {
 protected:
  // A frame of a code object whose two texts are at kText, and whose line table is at kLines.
  profd_python_process OneFrame() {
    profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
    process.code_version = 0;
    Thread(process);
    Put(CodeOf(1) + 24, std::uint64_t{11});
    Put(CodeOf(1) + 32, std::uint64_t{12});
    Put(CodeOf(1) + 112, kText);
    Put(CodeOf(1) + 120, std::uint64_t{0x4000});
    Put(CodeOf(1) + 128, kText);
    Put(CodeOf(1) + 136, kLines);
    Put(0x4018, std::uint64_t{0xfeed});
    Put(kState + 56, std::uint64_t{0x7001'0000});
    Frame(0x7001'0000, 1, 0x7ffc'0000, 12, 0);
    Frame(0x7ffc'0000, 0, 0, 0, 3);
    return process;
  }
  // Of the frame's code object; 0, which no code has here, when it has none.
  std::uint64_t Validator(const profd_python_process& process) {
    const auto words = Walk(process);
    EXPECT_EQ(words.size(), 3u);
    EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
    return words.size() == 3 ? words[1] >> 32 : 0;
  }
  void ExpectNoValidator(const profd_python_process& process) {
    EXPECT_THAT(Walk(process), ElementsAre(CodeOf(1), At(0, 12), kAnchor | 0x7ffc'0000));
    EXPECT_TRUE(event()->python_flags & PROFD_PYTHON_FAULT);
  }

  static constexpr std::uint64_t kText = 0x5000;
  static constexpr std::uint64_t kLines = 0x6000;
};

// Code objects that were given the memory of another, with all that they lead to.
TEST_P(PythonTextTest, WithoutVersionsTextsDistinguishCode) {
  profd_python_process process = OneFrame();
  process.code_file = 112;
  const auto validator = [&](std::uint32_t state, const std::string& text) {
    memory_.erase(memory_.lower_bound(kText), memory_.lower_bound(kLines));
    const unsigned bytes_each = PROFD_PYTHON_TEXT_KIND(state);
    Put(kText + 0x10, std::uint64_t{text.size() / bytes_each});
    Put(kText + 0x18, ~std::uint64_t{0});
    Put(kText + 0x20, std::uint64_t{state});
    for (std::size_t i = 0; i < text.size(); ++i)
      Put(kText + PROFD_PYTHON_TEXT_BEGIN(state) + i, text[i]);
    return Validator(process);
  };
  constexpr std::uint32_t kAscii = 0xe4;
  constexpr std::uint32_t kTwoBytes = 0xa8;
  const std::string folder(200, 'd');
  std::set<std::uint64_t> validators;
  validators.insert(validator(kAscii, "a.py"));
  validators.insert(validator(kAscii, "b.py"));
  validators.insert(validator(kAscii, ""));
  validators.insert(validator(kAscii, folder + "a.py"));
  validators.insert(validator(kAscii, folder + "b.py"));
  validators.insert(validator(kAscii, "d" + folder + "b.py"));
  validators.insert(validator(kTwoBytes, "a.py"));
  EXPECT_EQ(validators.size(), 7u);
  EXPECT_TRUE(validators.contains(validator(kAscii, "a.py"))) << "the same text is the same";
  process.code_qualname = 128;
  EXPECT_FALSE(validators.contains(validator(kAscii, "a.py")));

  Put(kText + 0x10, ~std::uint64_t{0});  // a length that cannot be
  ExpectNoValidator(process);
}

TEST_P(PythonTextTest, FieldsAmongTheConstantWordsAreNotReadAgain) {
  profd_python_process process = OneFrame();
  for (std::uint64_t field = 24; field < 144; field += 8)
    if (!memory_.contains(CodeOf(1) + field)) Put(CodeOf(1) + field, field);
  process.code_file = 112;
  process.code_lines = 136;
  Put(kText + 0x10, std::uint64_t{1});
  Put(kText + 0x18, std::uint64_t{0});
  Put(kText + 0x20, std::uint64_t{0xe4});
  Put(kText + 0x30, 'a');
  Put(kLines + 0x10, std::uint64_t{0});
  process.code_words = 15;  // up to 144
  EXPECT_NE(Validator(process), 0u);
  for (const std::uint64_t field : {112, 120, 136}) EXPECT_EQ(reads_[CodeOf(1) + field], 0);
  process.code_words = 12;  // the file is the last of them
  EXPECT_NE(Validator(process), 0u);
  EXPECT_EQ(reads_[CodeOf(1) + 112], 0);
  for (const std::uint64_t field : {120, 136}) EXPECT_EQ(reads_[CodeOf(1) + field], 1);
}

// As those that are made of strings do, line by line: their texts are the same.
TEST_P(PythonTextTest, WithoutVersionsLineTablesDistinguishCode) {
  profd_python_process process = OneFrame();
  process.code_lines = 136;
  const auto validator = [&](const std::string& table) {
    memory_.erase(memory_.lower_bound(kLines), memory_.lower_bound(kLines + 0x1000));
    Put(kLines + 0x10, std::uint64_t{table.size()});
    for (std::size_t i = 0; i < table.size(); ++i) Put(kLines + 0x20 + i, table[i]);
    return Validator(process);
  };
  const std::string beginning(63, 'b');
  std::set<std::uint64_t> validators;
  validators.insert(validator(""));
  validators.insert(validator("a"));
  validators.insert(validator("b"));
  validators.insert(validator(beginning + "a"));
  validators.insert(validator(beginning + "b"));
  validators.insert(validator(beginning + "ba"));
  EXPECT_EQ(validators.size(), 6u);
  EXPECT_TRUE(validators.contains(validator("a"))) << "the same table is the same";
  EXPECT_TRUE(validators.contains(validator(beginning + "bb"))) << "only the first bytes count";

  memory_.erase(memory_.lower_bound(kLines), memory_.lower_bound(kLines + 0x1000));
  ExpectNoValidator(process);
}

INSTANTIATE_TEST_SUITE_P(Readers, PythonTextTest, testing::Bool());

}  // namespace
}  // namespace profd
