#include "daemon/symbolize/live/host_symbolizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/symbolize/fake_objects.h"

namespace profd::symbolize {
namespace {

using testing::KernelAddress;
using testing::MakeModule;
using testing::MakeObject;
using testing::TableSource;
using testing::UserAddress;

class HostSymbolizerTest : public ::testing::Test {
 protected:
  HostSymbolizerTest() {
    EXPECT_TRUE(
        kernel_.AddBlob("ffffffff81000000 ffffffff81000100 [kernel] do_nanosleep\n"
                        "ffffffffc0000000 ffffffffc0000100 [bpf] bpf_prog_1_a\n"
                        "ffffffff82000000 ffffffff82000100 [kernel] _RNvC6_123foo3bar\n"));
  }
  Frame Resolve(const process::AddressFrame& address) {
    std::vector<Frame> frames;
    symbolizer_.Resolve(address, Detail::kSource, frames);
    EXPECT_EQ(frames.size(), 1u);
    return frames.at(0);
  }

  ReplayKernelSymbols kernel_;
  TableSource source_;
  HostSymbolizer symbolizer_{kernel_, source_};
};

TEST_F(HostSymbolizerTest, KernelFunctions) {
  const Frame frame = Resolve(KernelAddress(0xffffffff81000040));
  EXPECT_EQ(frame.kind, FrameKind::kKernel);
  EXPECT_EQ(frame.name, "do_nanosleep");
  EXPECT_EQ(frame.module, "[kernel]");
  EXPECT_EQ(frame.offset, 0xffffffff81000040u);
  EXPECT_EQ(Resolve(KernelAddress(0xffffffffc0000040)).module, "[bpf]");
  EXPECT_EQ(Resolve(KernelAddress(0xffffffff82000040)).name, "123foo::bar") << "Rust in the kernel";
}

TEST_F(HostSymbolizerTest, KernelReturnAddressesBelongToTheCall) {
  EXPECT_EQ(Resolve(KernelAddress(0xffffffff81000100)).name, "do_nanosleep");
  EXPECT_EQ(Resolve(KernelAddress(0xffffffff81000100, false)).reason,
            "no kernel symbol covers this address");
}

TEST_F(HostSymbolizerTest, KernelAddressesWithoutAName) {
  const Frame frame = Resolve(KernelAddress(0xffffffffd0000000));
  EXPECT_EQ(frame.kind, FrameKind::kKernel);
  EXPECT_EQ(frame.name, "");
  EXPECT_EQ(frame.module, "[kernel]");
  EXPECT_EQ(frame.offset, 0xffffffffd0000000u);
  EXPECT_EQ(frame.reason, "no kernel symbol covers this address");
}

TEST_F(HostSymbolizerTest, FilesAndTheVdso) {
  source_.objects["/a"] = MakeObject({{"f", 0x401000, 0x10}});
  source_.objects["[vdso]"] = MakeObject({{"__vdso_clock_gettime", 0x401000, 0x10}});
  EXPECT_EQ(Resolve(UserAddress(MakeModule("/a"), 0x1000)).name, "f");
  const Frame frame = Resolve(UserAddress(MakeModule("[vdso]", 0), 0x1000));
  EXPECT_EQ(frame.name, "__vdso_clock_gettime");
  EXPECT_EQ(frame.module, "[vdso]");
  EXPECT_EQ(frame.kind, FrameKind::kNative);
}

TEST_F(HostSymbolizerTest, MemoryWithoutAFileSaysWhatItIs) {
  const auto reason = [this](const std::string& path, std::uint64_t inode) {
    const Frame frame = Resolve(UserAddress(MakeModule(path, inode), 0x1234));
    EXPECT_EQ(frame.module, path);
    EXPECT_EQ(frame.offset, 0x1234u);
    EXPECT_EQ(frame.name, "");
    return frame.reason;
  };
  EXPECT_EQ(reason("", 0), "anonymous memory: code made at run time?");
  EXPECT_EQ(reason("[heap]", 0), "anonymous memory: code made at run time?");
  EXPECT_EQ(reason("[anon:v8]", 0), "anonymous memory: code made at run time?");
  EXPECT_EQ(reason("[vsyscall]", 0), "no symbols in this page of the kernel's");
  EXPECT_EQ(reason("anon_inode:[perf_event]", 0), "not a file");
  EXPECT_EQ(reason("/gone", 5), "file gone: /gone");
  EXPECT_EQ(source_.loads, 1);
}

TEST_F(HostSymbolizerTest, NoMapping) {
  const Frame frame = Resolve(UserAddress(nullptr, 0x1234));
  EXPECT_EQ(frame.reason, "no mapping held this address");
  EXPECT_EQ(frame.module, "");
  EXPECT_EQ(frame.offset, 0x7f0000001234u);
}

}  // namespace
}  // namespace profd::symbolize
