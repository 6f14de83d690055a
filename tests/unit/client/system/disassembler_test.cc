#include "client/system/disassembler.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

TEST(DisassemblerTest, AddressesHaveTheirPlaceInTheFile) {
  const auto found = InstructionsIn(
      "\n/bin/x:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
      "0000000000401139 <main> (File Offset: 0x1139):\n"
      "  401139:\tpush   %rbp\n"
      "  40113a:\tcall   401126 <f> (File Offset: 0x1126)\n"
      "\t...\n"
      "0000000000601000 <main.cold> (File Offset: 0x2000):\n"
      "  601000:\tud2\x1b[2J\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].address, 0x401139u);
  EXPECT_EQ(found[0].offset, 0x1139u);
  EXPECT_EQ(found[0].text, "push   %rbp");
  EXPECT_EQ(found[1].offset, 0x113au);
  EXPECT_EQ(found[1].text, "call   401126 <f>");
  EXPECT_EQ(found[2].offset, 0x2000u);
  EXPECT_EQ(found[2].text, "ud2?[2J");
  EXPECT_TRUE(InstructionsIn("").empty());
  EXPECT_TRUE(InstructionsIn("zzz\n <main> (File Offset: 0x\n12:\n").empty());
}

TEST(DisassemblerTest, IsLookedUpInThePath) {
  const test::TempFolder folder;
  const auto none = FindObjdump(folder.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().hint, "apt install binutils");
}

TEST(DisassemblerTest, WhatIsNoFileIsRefused) {
  const test::TempFolder folder;
  const std::string fifo = folder.Path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(Disassemble("/bin/false", fifo, "main").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(Disassemble("/bin/false", folder.Path("missing"), "main").error().code,
            ErrorCode::kNotFound);
}

TEST(DisassemblerTest, ReadsAFunctionOfAProgram) {
  const char* path = std::getenv("PATH");
  const auto objdump = FindObjdump(path == nullptr ? "" : path);
  if (!objdump) GTEST_SKIP() << "objdump is not installed";
  const std::string program = test::BinaryDirectory() + "/tests/client_system_test";
  const auto found = Disassemble(*objdump, program, "main");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->size(), 3u);
  for (const Instruction& one : *found) EXPECT_FALSE(one.text.empty());
  const auto none = Disassemble(*objdump, program, "no_such_function");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace profd::client
