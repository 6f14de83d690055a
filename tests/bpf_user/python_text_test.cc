// Code objects without versions: what tells one from another that was given its memory.
#include <set>
#include <string>

#include "tests/bpf_user/python_world.h"

namespace profd {
namespace {

using ::testing::ElementsAre;

using PythonTextTest = PythonWalkTest;

// Code objects that were given the memory of another, with all that they lead to.
TEST_P(PythonTextTest, WithoutVersionsTextsTellCodeApart) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  process.code_version = 0;
  process.code_file = 112;
  Thread(process);
  Put(CodeOf(1) + 24, std::uint64_t{11});
  Put(CodeOf(1) + 32, std::uint64_t{12});
  Put(CodeOf(1) + 112, std::uint64_t{0x5000});
  Put(CodeOf(1) + 120, std::uint64_t{0x4000});
  Put(CodeOf(1) + 128, std::uint64_t{0x5000});
  Put(0x4018, std::uint64_t{0xfeed});
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0x7ffc'0000, 12, 0);
  Frame(0x7ffc'0000, 0, 0, 0, 3);
  const auto validator = [&](std::uint32_t state, const std::string& text) {
    memory_.erase(memory_.lower_bound(0x5000), memory_.lower_bound(0x6000));
    const unsigned bytes_each = PROFD_PYTHON_TEXT_KIND(state);
    Put(0x5010, std::uint64_t{text.size() / bytes_each});
    Put(0x5018, ~std::uint64_t{0});
    Put(0x5020, std::uint64_t{state});
    for (std::size_t i = 0; i < text.size(); ++i)
      Put(0x5000 + PROFD_PYTHON_TEXT_BEGIN(state) + i, text[i]);
    const auto words = Walk(process);
    EXPECT_EQ(words.size(), 3u);
    EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD) << text;
    return words.size() == 3 ? words[1] >> 32 : 0;
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

  Put(0x5010, ~std::uint64_t{0});
  EXPECT_THAT(Walk(process),
              ElementsAre(CodeOf(1), At(0, PROFD_PYTHON_NO_INSTRUCTION), kAnchor | 0x7ffc'0000));
  EXPECT_TRUE(event()->python_flags & PROFD_PYTHON_FAULT) << "a length that cannot be";
}

INSTANTIATE_TEST_SUITE_P(Readers, PythonTextTest, testing::Bool());

}  // namespace
}  // namespace profd
