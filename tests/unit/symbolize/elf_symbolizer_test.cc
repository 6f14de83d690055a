#include "daemon/symbolize/live/elf_symbolizer.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using testing::MakeModule;
using testing::MakeObject;
using testing::TableSource;
using testing::UserAddress;

Frame Resolve(Symbolizer& symbolizer, const process::AddressFrame& address) {
  std::vector<Frame> frames;
  symbolizer.Resolve(address, Detail::kSource, frames);
  EXPECT_EQ(frames.size(), 1u);
  return frames.at(0);
}

class ElfSymbolizerTest : public ::testing::Test {
 protected:
  TableSource source_;
  ElfSymbolizer symbolizer_{source_};
};

TEST_F(ElfSymbolizerTest, NamesAnAddress) {
  source_.objects["/lib/a.so"] =
      MakeObject({{"_ZN3Foo3barEi", 0x401000, 0x10}, {"plain", 0x401010, 0x10}});
  const auto module = MakeModule("/lib/a.so");
  const Frame frame = Resolve(symbolizer_, UserAddress(module, 0x1004));
  EXPECT_EQ(frame.kind, FrameKind::kNative);
  EXPECT_EQ(frame.name, "Foo::bar");
  EXPECT_EQ(frame.full_name, "Foo::bar(int)");
  EXPECT_EQ(frame.module, "/lib/a.so");
  EXPECT_EQ(frame.offset, 0x1004u);
  EXPECT_EQ(frame.reason, "");
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1010)).name, "plain");
  EXPECT_EQ(source_.loads, 1);
}

TEST_F(ElfSymbolizerTest, AFunctionWithoutASymbolIsNamedByItsPlace) {
  elf::ObjectInfo info = MakeObject({})->info();
  info.symbols_missing = "stripped";
  elf::SymbolTable functions;
  functions.AddFunctions(std::array{elf::FunctionExtent{0x401000, 0x401020}});
  source_.objects["/lib/liba.so.1"] = std::make_shared<elf::TableObject>(info, functions);
  const auto module = MakeModule("/lib/liba.so.1");
  for (const std::uint64_t offset : {0x1000, 0x101f}) {
    const Frame frame = Resolve(symbolizer_, UserAddress(module, offset));
    EXPECT_EQ(frame.name, "liba.so.1!fn_401000");
    EXPECT_EQ(frame.reason, "stripped") << "what would help stays known";
    EXPECT_EQ(frame.offset, offset);
  }
  const Frame outside = Resolve(symbolizer_, UserAddress(module, 0x1020));
  EXPECT_EQ(outside.name, "");
  EXPECT_EQ(outside.reason, "stripped");
}

TEST_F(ElfSymbolizerTest, AVirtualFunctionIsCalledByItsClass) {
  source_.objects["/lib/a.so"] = MakeObject(
      {{"_ZTSN11onnxruntime4ConvIfEE::(virtual 2) of _ZTSN11onnxruntime8OpKernelE", 0x401000, 0x10},
       {"_ZTS3Low::(virtual 0 at +16)", 0x401010, 0x10},
       {"_ZTS9short::(virtual 1)", 0x401020, 0x10}},
      "stripped");
  const auto module = MakeModule("/lib/a.so");
  const Frame frame = Resolve(symbolizer_, UserAddress(module, 0x1004));
  EXPECT_EQ(frame.name, "onnxruntime::Conv<float>::(virtual 2)");
  EXPECT_EQ(frame.symbol,
            "_ZTSN11onnxruntime4ConvIfEE::(virtual 2) of _ZTSN11onnxruntime8OpKernelE");
  EXPECT_EQ(frame.reason, "");
  const Frame low = Resolve(symbolizer_, UserAddress(module, 0x1010));
  EXPECT_EQ(low.name, "Low::(virtual 0 at +16)");
  EXPECT_EQ(low.symbol, "") << "there is none";
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1020)).name, "a.so!fn_401020");
}

TEST_F(ElfSymbolizerTest, SaysWhereTheNamesOfAModuleAreFrom) {
  source_.objects["/lib/a.so"] = MakeObject({{"f", 0x401000, 0x10}}, "stripped");
  const auto module = MakeModule("/lib/a.so");
  const Frame named = Resolve(symbolizer_, UserAddress(module, 0x1004));
  ASSERT_NE(named.origin, nullptr);
  EXPECT_EQ(named.origin->path, "/lib/a.so");
  EXPECT_EQ(named.origin->symbols_from, ".symtab");
  EXPECT_EQ(named.origin->symbols_missing, "stripped");
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1020)).origin, named.origin);
  const Frame gone = Resolve(symbolizer_, UserAddress(MakeModule("/gone"), 0x1000));
  ASSERT_NE(gone.origin, nullptr);
  EXPECT_EQ(gone.origin->symbols_from, "");
  EXPECT_EQ(gone.origin->symbols_missing, "file gone: /gone");
}

TEST_F(ElfSymbolizerTest, AFilesOwnDebugInformationIsNamedByThePathOfEachUser) {
  elf::ObjectInfo info = MakeObject({})->info();
  info.debug_file = elf::kOwnDebugInfo;
  const auto object = std::make_shared<elf::TableObject>(std::move(info), elf::SymbolTable());
  for (const std::string path : {"/secret/a.so", "/lib/a.so"}) {
    source_.objects[path] = object;
    EXPECT_EQ(Resolve(symbolizer_, UserAddress(MakeModule(path), 0x1004)).origin->debug_file, path);
  }
}

TEST_F(ElfSymbolizerTest, FramesAreEqualWhenWhatIsSaidOfTheirModuleIs) {
  source_.objects["/lib/a.so"] = MakeObject({{"f", 0x401000, 0x10}});
  const Frame one = Resolve(symbolizer_, UserAddress(MakeModule("/lib/a.so"), 0x1004));
  const Frame other = Resolve(symbolizer_, UserAddress(MakeModule("/lib/a.so"), 0x1004));
  EXPECT_NE(one.origin, other.origin) << "each module has its own";
  EXPECT_EQ(one, other);
  Frame changed = other;
  auto info = *other.origin;
  info.debug_file = "/found.debug";
  changed.origin = std::make_shared<ModuleInfo>(info);
  EXPECT_NE(one, changed);
}

TEST_F(ElfSymbolizerTest, AReturnAddressBelongsToTheCallBeforeIt) {
  source_.objects["/a"] = MakeObject({{"calls_exit", 0x401000, 0x10}, {"next", 0x401010, 0x10}});
  const auto module = MakeModule("/a");
  const Frame frame = Resolve(symbolizer_, UserAddress(module, 0x1010, true));
  EXPECT_EQ(frame.name, "calls_exit");
  EXPECT_EQ(frame.offset, 0x1010u) << "the address is what was on the stack";
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1010)).name, "next");
}

TEST_F(ElfSymbolizerTest, UnresolvedFramesKeepModuleAndOffsetAndSayWhy) {
  source_.objects["/whole"] = MakeObject({{"f", 0x401000, 0x10}});
  source_.objects["/stripped"] = MakeObject({}, "stripped: install its debug package");
  const auto reason = [&](const char* path, std::uint64_t offset) {
    const Frame frame = Resolve(symbolizer_, UserAddress(MakeModule(path), offset));
    EXPECT_EQ(frame.name, "");
    EXPECT_EQ(frame.module, path);
    EXPECT_EQ(frame.offset, offset);
    return frame.reason;
  };
  EXPECT_EQ(reason("/whole", 0x1020), "no symbol covers this address");
  EXPECT_EQ(reason("/stripped", 0x1020), "stripped: install its debug package");
  EXPECT_EQ(reason("/whole", 0x900000), "outside of what the file loads");
  EXPECT_EQ(reason("/gone", 0x1000), "file gone: /gone");
}

TEST_F(ElfSymbolizerTest, AReasonSaysWhatToDoWhereThatIsKnown) {
  class Refusing : public elf::ObjectSource {
   public:
    Result<elf::ObjectRef> Load(const elf::ObjectId& /*id*/) override {
      return Error{ErrorCode::kPermissionDenied, "cannot open it", "profd needs CAP_X"};
    }
  } refusing;
  ElfSymbolizer symbolizer(refusing);
  EXPECT_EQ(Resolve(symbolizer, UserAddress(MakeModule("/a"), 0)).reason,
            "cannot open it: profd needs CAP_X");
}

TEST_F(ElfSymbolizerTest, TextFromFilesIsCleaned) {
  source_.objects["/a\n\xff"] = MakeObject({{"evil\nname\x1b", 0x401000, 0x10}});
  const Frame frame = Resolve(symbolizer_, UserAddress(MakeModule("/a\n\xff"), 0x1000));
  EXPECT_EQ(frame.name, "evil?name?");
  EXPECT_EQ(frame.module, "/a??");
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(MakeModule("/\t"), 0)).reason, "file gone: /?");
}

TEST_F(ElfSymbolizerTest, NamesOutliveTheFile) {
  source_.objects["/a"] = MakeObject({{"f", 0x401000, 0x10}, {"g", 0x401010, 0x10}});
  const auto module = MakeModule("/a");
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1000)).name, "f");
  source_.objects.clear();
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1010)).name, "g");
}

TEST_F(ElfSymbolizerTest, AFailureIsNotTriedAgainForItsModule) {
  const auto module = MakeModule("/a");
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1000)).reason, "file gone: /a");
  source_.objects["/a"] = MakeObject({{"f", 0x401000, 0x10}});
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(module, 0x1000)).reason, "file gone: /a");
  EXPECT_EQ(source_.loads, 1);
  EXPECT_EQ(Resolve(symbolizer_, UserAddress(MakeModule("/a"), 0x1000)).name, "f")
      << "a new module";
}

TEST_F(ElfSymbolizerTest, HoldsTheObjectsUsedLastWithinItsBound) {
  for (const char* path : {"/a", "/b", "/c"})
    source_.objects[path] = MakeObject({{"f", 0x401000, 0x10}});
  const std::size_t each = source_.objects["/a"]->bytes();
  ElfSymbolizer symbolizer(
      source_, {.held_bytes = 2 * (each + ElfSymbolizer::kModuleBytes), .held_modules = 100});
  const auto a = MakeModule("/a"), b = MakeModule("/b"), c = MakeModule("/c");
  for (const auto& module : {a, b, a, c}) (void)Resolve(symbolizer, UserAddress(module, 0x1000));
  EXPECT_EQ(symbolizer.bytes(), 2 * each);
  EXPECT_EQ(source_.loads, 3);
  (void)Resolve(symbolizer, UserAddress(a, 0x1000));
  EXPECT_EQ(source_.loads, 3) << "a was used after b";
  (void)Resolve(symbolizer, UserAddress(b, 0x1000));
  EXPECT_EQ(source_.loads, 4) << "b was dropped for c";
}

TEST_F(ElfSymbolizerTest, ReleasesTheRequestedBytesOldestFirst) {
  for (const char* path : {"/a", "/b", "/c"})
    source_.objects[path] = MakeObject({{"f", 0x401000, 0x10}});
  const std::size_t each = source_.objects["/a"]->bytes() + ElfSymbolizer::kModuleBytes;
  const auto a = MakeModule("/a"), b = MakeModule("/b"), c = MakeModule("/c");
  for (const auto& module : {a, b, c}) (void)Resolve(symbolizer_, UserAddress(module, 0x1000));
  EXPECT_EQ(symbolizer_.memory().bytes(), 3 * each);
  symbolizer_.GiveUp();
  EXPECT_EQ(symbolizer_.memory().bytes(), 3 * each) << "no request has come";
  symbolizer_.memory().RequestReclaim(each + 1);
  symbolizer_.GiveUp();
  EXPECT_EQ(symbolizer_.memory().bytes(), each);
  (void)Resolve(symbolizer_, UserAddress(c, 0x1000));
  EXPECT_EQ(source_.loads, 3) << "the last used is still there";
  symbolizer_.memory().RequestReclaim(100 * each);
  symbolizer_.GiveUp();
  EXPECT_EQ(symbolizer_.bytes(), 0u);
}

TEST_F(ElfSymbolizerTest, WhatHasNoObjectTakesMemoryToo) {
  const auto a = MakeModule("/a"), b = MakeModule("/b");
  for (const auto& module : {a, b}) (void)Resolve(symbolizer_, UserAddress(module, 0x1000));
  EXPECT_EQ(symbolizer_.memory().bytes(), 2 * ElfSymbolizer::kModuleBytes);
  symbolizer_.memory().RequestReclaim(1);
  symbolizer_.GiveUp();
  EXPECT_EQ(symbolizer_.memory().bytes(), ElfSymbolizer::kModuleBytes);
  EXPECT_EQ(a.use_count(), 1) << "the oldest went";
}

TEST_F(ElfSymbolizerTest, ModulesThatShareAnObjectCountItOnce) {
  source_.objects["/a"] = MakeObject({{"f", 0x401000, 0x10}});
  std::vector<process::ModuleRef> modules;
  for (int i = 0; i < 10; ++i) {
    modules.push_back(MakeModule("/a"));
    (void)Resolve(symbolizer_, UserAddress(modules.back(), 0x1000));
  }
  EXPECT_EQ(symbolizer_.bytes(), source_.objects["/a"]->bytes());
}

TEST_F(ElfSymbolizerTest, HoldsNoMoreModulesThanItMay) {
  ElfSymbolizer symbolizer(source_, {.held_bytes = 1 << 20, .held_modules = 2});
  const auto a = MakeModule("/a"), b = MakeModule("/b"), c = MakeModule("/c");
  for (const auto& module : {a, b, c, b, a}) (void)Resolve(symbolizer, UserAddress(module, 0));
  EXPECT_EQ(source_.loads, 4) << "failures count as well: a was dropped for c";
  EXPECT_EQ(c.use_count(), 1) << "and c for a";
}

}  // namespace
}  // namespace profd::symbolize
