// RecordingObjectSource and ReplayObjectSource against each other: recorded questions are answered
// alike.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/elf/sources/recording_object_source.h"
#include "daemon/elf/sources/replay_object_source.h"
#include "daemon/elf/symbols/table_object.h"

namespace profd::elf {
namespace {

// Files by path; what is not there is gone.
class TableSource : public ObjectSource {
 public:
  Result<ObjectRef> Load(const ObjectId& id) override {
    const auto found = objects.find(id.path);
    if (found == objects.end()) return Error{ErrorCode::kNotFound, "file gone: " + id.path, ""};
    return found->second;
  }
  std::map<std::string, ObjectRef> objects;
};

ObjectRef MakeObject(const std::string& build_id,
                     const std::vector<std::pair<std::string, std::uint64_t>>& functions) {
  std::vector<RawSymbol> symbols;
  std::string pool(1, '\0');
  for (const auto& [name, start] : functions) {
    RawSymbol symbol;
    symbol.start = start;
    symbol.size = 0x10;
    symbol.name = static_cast<std::uint32_t>(pool.size());
    symbols.push_back(symbol);
    pool += name + '\0';
  }
  ObjectInfo info;
  info.build_id = build_id;
  info.segments = {{0, 0x1000, 0x1000, true}};
  info.symbols_from = SymbolOrigin::kSymtab;
  return std::make_shared<TableObject>(info, SymbolTable(symbols, pool));
}

ObjectId IdOf(const std::string& path) {
  ObjectId id;
  id.path = path;
  id.inode = 7;
  return id;
}

class ObjectRecordingTest : public ::testing::Test {
 protected:
  void Replay() {
    recording_.Flush();
    for (const auto& [key, bytes] : blobs_) {
      const Result<void> added = replay_.AddBlob(key, bytes);
      ASSERT_TRUE(added) << added.error().message;
    }
    blobs_.clear();
  }
  static std::string NameAt(const Result<ObjectRef>& object, std::uint64_t vaddr) {
    if (!object) return object.error().message;
    const auto symbol = (*object)->FindSymbol(vaddr);
    return symbol ? std::string(symbol->name) : "-";
  }

  TableSource files_;
  std::vector<std::pair<std::string, std::string>> blobs_;
  RecordingObjectSource recording_{
      files_, [this](std::string_view kind, std::string_view key, std::string_view bytes) {
        EXPECT_EQ(kind, "elf");
        blobs_.emplace_back(key, bytes);
      }};
  ReplayObjectSource replay_;
};

TEST_F(ObjectRecordingTest, AnswersAllRecordedQuestionsAlike) {
  files_.objects["/lib"] = MakeObject("aa", {{"f", 0x1000}, {"g", 0x1010}, {"h", 0x1040}});
  const Result<ObjectRef> live = recording_.Load(IdOf("/lib"));
  std::map<std::uint64_t, std::string> requested;
  for (const std::uint64_t vaddr : {0x1000, 0x100f, 0x1010, 0x1025, 0x2000})
    requested[vaddr] = NameAt(live, vaddr);
  Replay();
  const Result<ObjectRef> replayed = replay_.Load(IdOf("/lib"));
  ASSERT_TRUE(replayed);
  EXPECT_EQ((*replayed)->info(), (*live)->info());
  for (const auto& [vaddr, name] : requested) EXPECT_EQ(NameAt(replayed, vaddr), name);
  EXPECT_EQ((*replayed)->FindSymbol(0x1004), (*live)->FindSymbol(0x1004));
  EXPECT_EQ(NameAt(replayed, 0x1040), "-") << "it was not requested, so it is not in the recording";
}

TEST_F(ObjectRecordingTest, FlushHandsOverOnlyWhatIsNew) {
  files_.objects["/lib"] = MakeObject("aa", {{"f", 0x1000}, {"g", 0x1010}});
  const Result<ObjectRef> live = recording_.Load(IdOf("/lib"));
  EXPECT_EQ(NameAt(live, 0x1000), "f");
  Replay();
  recording_.Flush();
  EXPECT_TRUE(blobs_.empty());
  EXPECT_EQ(NameAt(live, 0x1001), "f");
  recording_.Flush();
  EXPECT_TRUE(blobs_.empty()) << "the same symbol again";
  EXPECT_EQ(NameAt(live, 0x1010), "g");
  Replay();
  const Result<ObjectRef> replayed = replay_.Load(IdOf("/lib"));
  EXPECT_EQ(NameAt(replayed, 0x1000), "f");
  EXPECT_EQ(NameAt(replayed, 0x1010), "g");
}

TEST_F(ObjectRecordingTest, FailuresToo) {
  EXPECT_EQ(NameAt(recording_.Load(IdOf("/gone")), 0), "file gone: /gone");
  Replay();
  EXPECT_EQ(NameAt(replay_.Load(IdOf("/gone")), 0), "file gone: /gone");
  EXPECT_EQ(replay_.Load(IdOf("/gone")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(NameAt(replay_.Load(IdOf("/never")), 0), "the recording does not hold this file");
}

TEST_F(ObjectRecordingTest, AFileThatCouldBeHadLaterAnswers) {
  EXPECT_FALSE(recording_.Load(IdOf("/lib")));
  Replay();
  files_.objects["/lib"] = MakeObject("aa", {{"f", 0x1000}});
  EXPECT_EQ(NameAt(recording_.Load(IdOf("/lib")), 0x1000), "f");
  files_.objects.clear();
  EXPECT_FALSE(recording_.Load(IdOf("/lib")));
  Replay();
  EXPECT_EQ(NameAt(replay_.Load(IdOf("/lib")), 0x1000), "f");
}

TEST_F(ObjectRecordingTest, TheFirstContentsOfAFileStand) {
  files_.objects["/lib"] = MakeObject("aa", {{"f", 0x1000}});
  EXPECT_EQ(NameAt(recording_.Load(IdOf("/lib")), 0x1000), "f");
  files_.objects["/lib"] = MakeObject("bb", {{"other", 0x1008}, {"more", 0x1020}});
  const Result<ObjectRef> second = recording_.Load(IdOf("/lib"));
  EXPECT_EQ(NameAt(second, 0x1008), "other");
  EXPECT_EQ(NameAt(second, 0x1020), "more");
  Replay();
  const Result<ObjectRef> replayed = replay_.Load(IdOf("/lib"));
  EXPECT_EQ((*replayed)->info().build_id, "aa");
  EXPECT_EQ(NameAt(replayed, 0x1008), "f");
  EXPECT_EQ(NameAt(replayed, 0x1020), "more");
}

TEST_F(ObjectRecordingTest, DamagedBlobsAreRefused) {
  EXPECT_EQ(replay_.AddBlob("0:0:7:/lib", "nonsense").error().message,
            "0:0:7:/lib: damaged record of an ELF file");
}

}  // namespace
}  // namespace profd::elf
