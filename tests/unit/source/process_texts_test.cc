#include "daemon/source/procfs/process_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/reader/message.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"
#include "daemon/source/procfs/process_context.h"
#include "tests/support/direct_reader.h"
#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Answers as the process would, but is late with some.
class SometimesLate : public reader::Readers {
 public:
  explicit SometimesLate(reader::Readers& readers) : readers_(readers) {}
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds patience) override {
    requests.push_back(request.name);
    if (late(request)) return Error{ErrorCode::kUnavailable, request.name + ": is being read", ""};
    return readers_.Ask(request, patience);
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

  std::function<bool(const reader::ReaderRequest&)> late = [](const auto&) { return false; };
  std::vector<std::string> requests;

 private:
  reader::Readers& readers_;
};

// What this process says it is, in its memory, as OpenTelemetry's libraries publish it.
class Published {
 public:
  Published() {
    const UniqueFd file(::memfd_create("OTEL_CTX", MFD_CLOEXEC));
    if (::ftruncate(file.get(), kBytes) != 0) std::abort();
    page_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
    if (page_ == MAP_FAILED) std::abort();
    ProcessContextHeader header{};
    std::memcpy(header.signature, "OTEL_CTX", sizeof header.signature);
    header.version = 2;
    header.payload_bytes = static_cast<std::uint32_t>(payload_.size());
    header.published_ns = 1;
    header.payload = reinterpret_cast<std::uintptr_t>(payload_.data());
    std::memcpy(page_, &header, sizeof header);
  }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  ~Published() { ::munmap(page_, kBytes); }

 private:
  static constexpr std::size_t kBytes = 4'096;
  void* page_ = nullptr;
  // A resource with one attribute, service.name.
  const std::string payload_ = "\x0a\x1b\x0a\x0cservice.name\x12\x0b\x0a\x09in-memory";
};

class ProcessTextsTest : public ::testing::Test {
 protected:
  ProcessTextsTest() {
    for (const std::uint32_t pid : {11u, 12u, 13u})
      fake_.AddProcess(pid, 1'000'000'000, "p" + std::to_string(pid));
  }
  // "maps of p11", or "" where there is nothing.
  std::vector<std::string> MapsOf(const std::vector<ProcessThread>& processes) {
    std::vector<std::string> maps;
    for (const auto& one : client_.Read(processes))
      maps.push_back(one ? one->maps.substr(one->maps.find("/bin/")) : "");
    return maps;
  }

  const FakeProc fake_;
  SometimesLate readers_{fake_.readers()};
  ProcessTextClient client_{readers_};
};

TEST_F(ProcessTextsTest, ProcessesOfAUserAreReadTogether) {
  EXPECT_THAT(MapsOf({{11, 11, 0}, {12, 12, 7}, {13, 13, 0}}),
              ElementsAre("/bin/p11\n", "/bin/p12\n", "/bin/p13\n"));
  EXPECT_THAT(readers_.requests, ElementsAre("processes of user 0", "processes of user 7"));
}

TEST_F(ProcessTextsTest, OfTheEnvironmentOnlyTheResourceLeavesTheReader) {
  using namespace std::string_literals;
  fake_.Write("11/environ", "SECRET=x\0OTEL_SERVICE_NAME=cart\0PATH=/bin\0"s);
  const std::vector<ProcessThread> processes{{11, 11, 0}, {12, 12, 0}};
  const auto texts = client_.Read(processes);
  ASSERT_TRUE(texts[0] && texts[1]);
  EXPECT_EQ(texts[0]->resource, "service.name\0cart\0"s);
  EXPECT_EQ(texts[1]->resource, "");
}

TEST_F(ProcessTextsTest, MoreThanFitTogetherAreSeveralRequests) {
  std::vector<ProcessThread> many(2 * ProcessTextClient::kTogether + 1, {11, 11, 0});
  EXPECT_THAT(MapsOf(many), testing::Each("/bin/p11\n"));
  EXPECT_THAT(readers_.requests, SizeIs(3));
}

TEST_F(ProcessTextsTest, AnAnswerThatIsFullIsContinued) {
  const std::string large(ProcessTextParser::kAnswerBytes - 100, 'm');
  for (const char* name : {"11/maps", "12/maps"}) fake_.Write(name, "/bin/" + large);
  const auto texts =
      client_.Read(std::vector<ProcessThread>{{11, 11, 0}, {12, 12, 0}, {13, 13, 0}});
  for (const auto& one : texts) EXPECT_TRUE(one);
  EXPECT_EQ(texts[1]->maps.size(), large.size() + 5);
  EXPECT_THAT(readers_.requests, SizeIs(2));
}

TEST_F(ProcessTextsTest, OneThatHangsCostsTheOthersNothing) {
  readers_.late = [](const reader::ReaderRequest& request) {
    reader::Unpacker fields(request.body);
    for (auto left = fields.Number<std::uint32_t>(); left > 0; --left) {
      if (fields.Number<std::uint32_t>() == 12) return true;
      (void)fields.Number<std::uint32_t>();
    }
    return false;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(MapsOf({{11, 11, 7}, {12, 12, 7}, {13, 13, 7}, {11, 11, 8}}),
                ElementsAre("/bin/p11\n", "", "/bin/p13\n", "/bin/p11\n"));
  }
  EXPECT_THAT(readers_.requests,
              ElementsAre("processes of user 7", "mappings of process 11", "mappings of process 12",
                          "mappings of process 13", "processes of user 8",
                          // The second time no process waits for the others.
                          "mappings of process 11", "mappings of process 12",
                          "mappings of process 13", "processes of user 8"));
}

TEST_F(ProcessTextsTest, AProcessThatIsGoneHasNoTexts) {
  const auto texts = client_.Read(std::vector<ProcessThread>{{99, 99, 0}});
  ASSERT_TRUE(texts.front());
  EXPECT_EQ(texts.front()->maps, "");
  EXPECT_EQ(texts.front()->command_line, "");
}

TEST_F(ProcessTextsTest, AnAnswerThatMakesNoSenseIsNone) {
  test::LyingReaders lying;
  reader::Packer many;
  for (int i = 0; i < 2; ++i) many.Text("a").Text("b");
  for (const std::string& answer :
       {std::string(), std::string("\1"), many.Take(),
        reader::Packer().Text(std::string(5'000, 'c')).Text("").Take()}) {
    lying.answers = {answer};
    ProcessTextClient client(lying);
    EXPECT_FALSE(client.Read(std::vector<ProcessThread>{{11, 11, 0}}).front());
  }
}

TEST(ProcessTexts, ASandboxedParserReadsThem) {
  auto zygote = reader::Zygote::Start(
      {{"test-process", {}, [] { return std::make_unique<ProcessTextParser>(); }, true}});
  ASSERT_TRUE(zygote) << zygote.error().message;
  reader::ReaderPool pool(**zygote, 0, {});
  ProcessTextClient client(pool);
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const Published published;
  // Often enough that its memory is measured.
  for (int i = 0; i < 40; ++i) {
    const auto texts = client.Read(std::vector<ProcessThread>{{pid, pid, 0}, {pid, pid, 0}});
    ASSERT_TRUE(texts[0] && texts[1]);
    EXPECT_NE(texts[1]->maps.find("source_test"), std::string::npos);
    EXPECT_NE(texts[0]->command_line.find("source_test"), std::string::npos);
    EXPECT_NE(texts[0]->resource.find(std::string("service.name\0in-memory\0", 23)),
              std::string::npos);
  }
  EXPECT_EQ(pool.counters().started.value(), 1u);
}

}  // namespace
}  // namespace profd::source
