#include "daemon/elf/probes/probe_finder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "daemon/base/unique_fd.h"
#include "tests/support/paths.h"
#include "tests/unit/elf/elf_builder.h"

namespace profd::elf {
namespace {

// The library of tests/testprogs/steps.
class ProbeFinderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = test::BinaryDirectory() + "/testprogs/libtorch_cpu.so";
    fd_.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd_.valid()) << path;
    auto bytes = FileBytes::Of(fd_.get());
    ASSERT_TRUE(bytes);
    bytes_.emplace(*std::move(bytes));
    auto file = ElfFile::Open(*bytes_);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(*std::move(file));
    ASSERT_TRUE(file_->ReadSections());
  }
  [[nodiscard]] unsigned char ByteAt(std::uint64_t offset) const {
    const auto copied = bytes_->Copy(offset, 1);
    return copied ? static_cast<unsigned char>(copied->front()) : 0;
  }

  UniqueFd fd_;
  std::optional<FileBytes> bytes_;
  std::optional<ElfFile> file_;
};

TEST_F(ProbeFinderTest, FunctionsAreFoundInBothTables) {
  constexpr const char* kLocal =
      "_ZN5torch8autograd8profilerL24record_function_exit_newERKN3c1013intrusive_ptrINS1_"
      "20PythonRec"
      "ordFunctionENS2_6detail34intrusive_target_default_null_typeIS4_EEEE";
  const std::vector<std::string> names{"work_step", kLocal, "no_such"};
  const auto places = FindFunctions(*file_, names);
  ASSERT_EQ(places.size(), 3u);
  ASSERT_TRUE(places[0]);
  ASSERT_TRUE(places[1]);
  EXPECT_FALSE(places[2]);
  EXPECT_NE(places[0]->offset, places[1]->offset);
  EXPECT_EQ(places[0]->semaphore, 0u);
}

TEST(BehindVectors, IsWhereTheKernelCanAttachAndArgumentsAreThere) {
  const std::string vmovd("\xc4\xc1\x79\x6e\xd0", 5);  // vmovd %r8d,%xmm2
  const std::string vpxor("\xc5\xf9\xef\xc0", 4);      // vpxor %xmm0,%xmm0,%xmm0
  const std::string to_eax("\xc5\xf9\x7e\xd0", 4);     // vmovd %xmm2,%eax
  const std::string mov("\x89\xd0", 2);                // mov %edx,%eax
  const auto behind = [](const std::string& code) {
    std::string elf = testing::BuildElf(testing::SmallPlan());
    elf.replace(testing::kTextOffset, code.size(), code);
    const MemoryBytes bytes(std::as_bytes(std::span(elf)));
    const auto file = ElfFile::Open(bytes);
    EXPECT_TRUE(file);
    return file ? BehindVectors(*file, testing::kTextOffset) - testing::kTextOffset : ~0ull;
  };
  EXPECT_EQ(behind(mov), 0u);
  EXPECT_EQ(behind(vmovd + mov), 5u);
  EXPECT_EQ(behind(vmovd + vpxor + mov), 9u);
  EXPECT_EQ(behind(vpxor + to_eax + mov), 0u) << "an argument may be lost";
  std::string vectors;
  for (int i = 0; i < 100; ++i) vectors += vpxor;
  EXPECT_EQ(behind(vectors), 0u);
}

TEST_F(ProbeFinderTest, DataIsNoFunction) {
  const std::vector<std::string> names{"trainer_counted_semaphore"};
  EXPECT_FALSE(FindFunctions(*file_, names)[0]);
}

TEST_F(ProbeFinderTest, AStaticProbeHasAllItsPlaces) {
  constexpr unsigned char kNop = 0x90;
  const auto places = FindStaticProbe(*file_, "trainer", "step");
  ASSERT_EQ(places.size(), 2u);
  for (const ProbePlace& place : places) {
    EXPECT_EQ(ByteAt(place.offset), kNop);
    EXPECT_EQ(place.semaphore, 0u);
  }
  EXPECT_TRUE(FindStaticProbe(*file_, "trainer", "other").empty());
  EXPECT_TRUE(FindStaticProbe(*file_, "other", "step").empty());
}

TEST_F(ProbeFinderTest, AStaticProbeHasItsSemaphore) {
  const auto places = FindStaticProbe(*file_, "trainer", "counted");
  ASSERT_EQ(places.size(), 1u);
  EXPECT_NE(places[0].semaphore, 0u);
}

}  // namespace
}  // namespace profd::elf
