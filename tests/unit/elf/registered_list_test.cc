// This program registers objects for debuggers, and reads its own list as a reader process does.
#include "daemon/elf/registered/registered_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fcntl.h>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "daemon/elf/registered/registered_object.h"
#include "tests/support/registered/registered_code.h"
#include "tests/support/subprocess.h"

namespace profd::elf {
namespace {

using test::DebuggerEntry;
using test::MakeRegistered;

constexpr std::uint64_t kCode = 0x7e0000001000;

// Counts what is opened.
class CountingOpener : public reader::FileOpener {
 public:
  Result<reader::OpenedFile> Open(const reader::OpenRequest& request) override {
    files += request.what == reader::OpenRequest::What::kMapped ? 1 : 0;
    memories += request.what == reader::OpenRequest::What::kMemory ? 1 : 0;
    return opener_.Open(request);
  }
  int files = 0;
  int memories = 0;

 private:
  reader::Opener opener_;
};

test::RegisteredPlan Plan(bool relocatable = true) {
  test::RegisteredPlan plan;
  plan.relocatable = relocatable;
  plan.code = kCode;
  plan.code_bytes = 0x100;
  plan.functions = {{"first", 0, 0x10}, {"second", 0x20, 0x20}, {"open_end", 0x80, 0}};
  return plan;
}

class RegisteredListTest : public ::testing::Test {
 protected:
  RegisteredListRef Read() {
    const auto list = lists_.Read(opener_, static_cast<std::uint32_t>(::getpid()));
    EXPECT_TRUE(list) << list.error().message;
    return list ? *list : nullptr;
  }
  Result<RegisteredObject> Open(const std::string& object) {
    return RegisteredObject::Open(memory_.get(), reinterpret_cast<std::uint64_t>(object.data()),
                                  object.size());
  }

  test::DebuggerList debuggers_;
  CountingOpener opener_;
  RegisteredLists lists_;
  UniqueFd memory_{::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
};

TEST_F(RegisteredListTest, ObjectsAreInTheOrderOfTheList) {
  const std::string old = MakeRegistered(Plan());
  test::RegisteredPlan other = Plan();
  other.code += 0x1000;
  const std::string added = MakeRegistered(other);
  debuggers_.Add(old);
  debuggers_.Add(added);
  const auto list = Read();
  ASSERT_EQ(list->objects.size(), 2u);
  EXPECT_NE(list->stamp, 0u);
  EXPECT_EQ(list->left_out, 0u);
  EXPECT_EQ(list->objects[0].code, (std::vector<FunctionExtent>{{kCode + 0x1000, kCode + 0x1100}}));
  EXPECT_EQ(list->objects[1].code, (std::vector<FunctionExtent>{{kCode, kCode + 0x100}}));
  std::size_t from = 0;
  EXPECT_EQ(list->FindIn(kCode + 0xff, kCode + 0x1000, from), &list->objects[1]);
  EXPECT_EQ(list->FindIn(kCode, kCode + 0x1001, from), nullptr) << "from there on there is none";
}

TEST_F(RegisteredListTest, SymbolsAreWhereTheCodeWasLoaded) {
  for (const bool relocatable : {true, false}) {
    const std::string bytes = MakeRegistered(Plan(relocatable));
    const auto object = Open(bytes);
    ASSERT_TRUE(object) << object.error().message;
    const SymbolTable symbols = object->ReadSymbols();
    const auto name = [&](std::uint64_t address) {
      const auto found = symbols.Find(address);
      return found ? std::string(found->name) : "";
    };
    EXPECT_EQ(name(kCode), "first");
    EXPECT_EQ(name(kCode + 0x3f), "second");
    EXPECT_EQ(name(kCode + 0x10), "");
    EXPECT_EQ(name(kCode + 0xff), "open_end") << "to the end of its section";
    EXPECT_EQ(name(kCode + 0x100), "");
  }
}

TEST_F(RegisteredListTest, AListThatStaysIsNotReadAgain) {
  std::string object = MakeRegistered(Plan());
  debuggers_.Add(object);
  const auto list = Read();
  EXPECT_EQ(Read(), list);
  // The run time frees the object, and puts another one in its place.
  test::RegisteredPlan other = Plan();
  other.code += 0x10;
  const std::string in_its_place = MakeRegistered(other);
  ASSERT_EQ(in_its_place.size(), object.size());
  std::memcpy(object.data(), in_its_place.data(), object.size());
  const auto changed = Read();
  ASSERT_NE(changed, list);
  EXPECT_NE(changed->stamp, list->stamp);
  EXPECT_NE(changed->objects.at(0).place, list->objects.at(0).place);
  debuggers_.RemoveFirst();
  EXPECT_TRUE(Read()->objects.empty());
  EXPECT_NE(Read()->stamp, 0u) << "there may be more";
}

TEST_F(RegisteredListTest, ALoopEnds) {
  const std::string object = MakeRegistered(Plan());
  DebuggerEntry& last = debuggers_.Add(object);
  debuggers_.Add(object);
  last.next = &debuggers_.Add(object);
  const auto list = Read();
  EXPECT_EQ(list->objects.size(), 3u);
  EXPECT_EQ(list->left_out, 1u);
}

TEST_F(RegisteredListTest, WhatLeadsNowhereIsLeftOut) {
  const std::string object = MakeRegistered(Plan());
  const std::string text = "no object";
  const auto address = [](std::uint64_t number) {
    return reinterpret_cast<const void*>(number);  // NOLINT(performance-no-int-to-ptr)
  };
  DebuggerEntry& last = debuggers_.Add(object);
  last.next = static_cast<const DebuggerEntry*>(address(0xffff'ffff'ffff'0000));
  debuggers_.Add(address(0x10), 4096);
  debuggers_.Add(address(0xffff'8000'0000'0000), 4096);
  debuggers_.Add(object.data(), std::uint64_t{1} << 62);
  debuggers_.Add(object.data(), 100);
  debuggers_.Add(object.data(), 0);
  debuggers_.Add(text);
  const auto list = Read();
  EXPECT_EQ(list->objects.size(), 1u);
  EXPECT_EQ(list->left_out, 7u);
}

TEST_F(RegisteredListTest, AListWithoutEndIsCut) {
  const std::string object = MakeRegistered(Plan());
  for (std::size_t i = 0; i < RegisteredLists::kMaxObjects + 10; ++i) debuggers_.Add(object);
  const auto list = Read();
  // Or it took too long.
  EXPECT_LE(list->objects.size(), RegisteredLists::kMaxObjects);
  EXPECT_FALSE(list->objects.empty());
  EXPECT_EQ(list->left_out, 1u);
}

TEST_F(RegisteredListTest, SectionsThatLieAreNoCode) {
  const std::string right = MakeRegistered(Plan());
  for (const std::uint64_t address :
       {std::uint64_t{0}, ~std::uint64_t{0} - 10, std::uint64_t{1} << 47}) {
    test::RegisteredPlan plan = Plan();
    plan.code = address;
    const std::string bytes = MakeRegistered(plan);
    const auto object = Open(bytes);
    ASSERT_TRUE(object);
    EXPECT_TRUE(object->code().empty()) << std::hex << address;
    EXPECT_EQ(object->ReadSymbols().size(), 0u);
  }
  // Any byte of the headers may be any other; nothing but the answer may change.
  for (std::size_t at = 0; at < right.size(); ++at) {
    std::string damaged = right;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    const auto object = Open(damaged);
    if (!object) continue;
    (void)object->ReadSymbols();
    (void)object->ReadFrames();
  }
}

TEST_F(RegisteredListTest, UnwindInformationIsRelocated) {
  test::RegisteredPlan plan = Plan();
  plan.frames = test::MakeFrames(plan.code_bytes, "\x41\x0e\x10");
  plan.relocated = {test::kFrameBegin, plan.frames.size() - 2, ~std::uint64_t{0}};
  const auto distance = [](const RegisteredFrames& frames) {
    std::int32_t number = 0;
    std::memcpy(&number, frames.bytes.data() + test::kFrameBegin, sizeof number);
    return number;
  };
  for (const std::uint64_t loaded_at : {std::uint64_t{0}, kCode + 0x4000}) {
    plan.frames_address = loaded_at;
    const std::string bytes = MakeRegistered(plan);
    const auto object = Open(bytes);
    ASSERT_TRUE(object);
    const auto frames = object->ReadFrames();
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_FALSE(frames->is_debug_frame);
    EXPECT_EQ(frames->address + test::kFrameBegin + static_cast<std::uint64_t>(distance(*frames)),
              kCode);
  }
  plan.frames_name = ".debug_frame";
  const std::string debug = MakeRegistered(plan);
  EXPECT_TRUE(Open(debug)->ReadFrames()->is_debug_frame);
  plan.frames.clear();
  const std::string none = MakeRegistered(plan);
  EXPECT_EQ(Open(none)->ReadFrames().error().code, ErrorCode::kNotFound);
}

TEST_F(RegisteredListTest, AProgramWithoutAListCostsLittle) {
  auto program = profd::testing::Subprocess::Start({"sh", "-c", "echo ready; read line"});
  ASSERT_TRUE(program);
  ASSERT_TRUE(program->ReadLine());
  const auto pid = static_cast<std::uint32_t>(program->pid());
  const auto list = lists_.Read(opener_, pid);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ((*list)->stamp, 0u);
  EXPECT_GT(opener_.files, 0);
  EXPECT_EQ(opener_.memories, 0);
  const int files = opener_.files;
  ASSERT_TRUE(lists_.Read(opener_, pid));
  EXPECT_EQ(opener_.files, files) << "the answer is kept";
}

TEST(RegisteredListPacked, ComesOutAsItWentIn) {
  RegisteredList list;
  list.stamp = 7;
  list.left_out = 3;
  list.objects = {{{0x1000, 0x200, 5}, {{0x10, 0x20}, {0x20, 0x30}}}, {{0x2000, 0x200, 6}, {}}};
  reader::Packer packer;
  PackList(list, packer);
  const std::string bytes = packer.Take();
  reader::Unpacker fields(bytes);
  const auto again = UnpackList(fields);
  ASSERT_TRUE(again && fields.done());
  EXPECT_EQ(again->stamp, 7u);
  EXPECT_EQ(again->left_out, 3u);
  ASSERT_EQ(again->objects.size(), 2u);
  EXPECT_EQ(again->objects[0].place, list.objects[0].place);
  EXPECT_EQ(again->objects[0].code, list.objects[0].code);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    reader::Unpacker cut(std::string_view(bytes).substr(0, length));
    EXPECT_FALSE(UnpackList(cut) && cut.done()) << length;
  }
  list.objects[0].code = {{0x20, 0x30}, {0x10, 0x20}};
  PackList(list, packer);
  const std::string disorder = packer.Take();
  reader::Unpacker lying(disorder);
  EXPECT_FALSE(UnpackList(lying));
}

}  // namespace
}  // namespace profd::elf
