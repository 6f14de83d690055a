#include "daemon/process/module_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace profd::process {
namespace {

ModuleIdentity File(const std::string& path, std::uint64_t inode, std::uint32_t pid = 1) {
  return IdentityOf(path, 8, 1, inode, pid);
}

class ModuleTableTest : public ::testing::Test {
 protected:
  ModuleTable MakeTable(std::size_t max_modules = 100) {
    return {max_modules, [this](std::uint32_t pid) { return alive_.contains(pid); }};
  }

  std::set<std::uint32_t> alive_ = {1, 2, 3};
};

TEST_F(ModuleTableTest, EqualFilesAreOneObject) {
  ModuleTable table = MakeTable();
  const ModuleRef one = table.Intern(File("/lib/libc.so", 7), {1, 100, 200});
  const ModuleRef two = table.Intern(File("/lib/libc.so", 7), {2, 300, 400});
  EXPECT_EQ(one, two);
  EXPECT_EQ(one->path, "/lib/libc.so");
  EXPECT_EQ(one->device_major, 8u);
  EXPECT_EQ(one->device_minor, 1u);
  EXPECT_EQ(one->inode, 7u);
  EXPECT_EQ(one->first_pid, 1u);
  EXPECT_EQ(one->map_start, 100u);
  EXPECT_EQ(one->map_end, 200u);
}

TEST_F(ModuleTableTest, ARenewedOneTakesThePlaceOfTheOther) {
  ModuleTable table = MakeTable();
  const ModuleRef one = table.Intern(File("/lib/a.so", 7), {1, 100, 200, 10});
  const ModuleRef two = table.Renew(File("/lib/a.so", 7), {1, 100, 200, 20});
  EXPECT_NE(one, two);
  EXPECT_EQ(one->mapped_ns, 10u);
  EXPECT_EQ(two->mapped_ns, 20u);
  EXPECT_EQ(table.Intern(File("/lib/a.so", 7), {2, 100, 200, 30}), two);
}

TEST_F(ModuleTableTest, AnyDifferenceMakesAnother) {
  ModuleTable table = MakeTable();
  std::set<ModuleRef> modules;
  modules.insert(table.Intern(IdentityOf("/a", 8, 1, 7, 1), {1}));
  modules.insert(table.Intern(IdentityOf("/b", 8, 1, 7, 1), {1}));
  modules.insert(table.Intern(IdentityOf("/a", 9, 1, 7, 1), {1}));
  modules.insert(table.Intern(IdentityOf("/a", 8, 2, 7, 1), {1}));
  modules.insert(table.Intern(IdentityOf("/a", 8, 1, 8, 1), {1}));
  EXPECT_EQ(modules.size(), 5u);
}

TEST_F(ModuleTableTest, AFileThatIsDeletedIsTheSameFile) {
  ModuleTable table = MakeTable();
  const ModuleRef module = table.Intern(File("/lib/a.so", 7), {1});
  EXPECT_EQ(table.Intern(File("/lib/a.so (deleted)", 7), {1}), module);
  EXPECT_EQ(table.Intern(File("/memfd:jit (deleted)", 9), {1})->path, "/memfd:jit");
}

TEST_F(ModuleTableTest, AnonymousMemoryBelongsToItsProcess) {
  ModuleTable table = MakeTable();
  const ModuleRef one = table.Intern(IdentityOf("", 0, 0, 0, 1), {1});
  EXPECT_NE(table.Intern(IdentityOf("", 0, 0, 0, 2), {2}), one);
  EXPECT_EQ(table.Intern(IdentityOf("//anon", 0, 0, 0, 1), {1}), one);
  EXPECT_NE(table.Intern(IdentityOf("[heap]", 0, 0, 0, 1), {1}), one);
  EXPECT_TRUE(IsAnonymous(*one));
}

TEST_F(ModuleTableTest, VdsoAndVsyscallAreTheSameEverywhere) {
  ModuleTable table = MakeTable();
  const ModuleRef vdso = table.Intern(IdentityOf("[vdso]", 0, 0, 0, 1), {1});
  EXPECT_EQ(table.Intern(IdentityOf("[vdso]", 0, 0, 0, 2), {2}), vdso);
  EXPECT_FALSE(IsAnonymous(*vdso));
  EXPECT_FALSE(IsAnonymous(*table.Intern(IdentityOf("[vsyscall]", 0, 0, 0, 1), {1})));
  EXPECT_EQ(table.kernel()->path, "[kernel]");
}

TEST_F(ModuleTableTest, TheNextProcessThatMapsItIsTheHomeOfAModuleWhoseHomeIsGone) {
  ModuleTable table = MakeTable();
  const ModuleRef old = table.Intern(File("/a", 7), {1, 100, 200});
  alive_.erase(1);
  const ModuleRef fresh = table.Intern(File("/a", 7), {2, 300, 400});
  EXPECT_NE(fresh, old);
  EXPECT_EQ(fresh->path, old->path);
  EXPECT_EQ(fresh->inode, old->inode);
  EXPECT_EQ(fresh->device_major, old->device_major);
  EXPECT_EQ(fresh->device_minor, old->device_minor);
  EXPECT_EQ(fresh->first_pid, 2u);
  EXPECT_EQ(fresh->map_start, 300u);
  EXPECT_EQ(table.Intern(File("/a", 7), {3, 500, 600}), fresh);
}

TEST_F(ModuleTableTest, RehomeMovesOnlyWhatHasLostItsHome) {
  ModuleTable table = MakeTable();
  const ModuleRef module = table.Intern(File("/a", 7), {1, 100, 200});
  EXPECT_EQ(table.Rehome(module, {2, 300, 400}), module);
  alive_.erase(1);
  const ModuleRef moved = table.Rehome(module, {2, 300, 400});
  EXPECT_EQ(moved->first_pid, 2u);
  EXPECT_EQ(table.Rehome(module, {3, 300, 400}), moved);
  alive_ = {};
  EXPECT_EQ(table.Rehome(module, {3, 300, 400}), module);
  EXPECT_EQ(table.Rehome(nullptr, {2, 300, 400}), nullptr);
}

TEST_F(ModuleTableTest, AnonymousMemoryThatIsInheritedIsTheHeirs) {
  ModuleTable table = MakeTable();
  const ModuleRef parents = table.Intern(IdentityOf("", 0, 0, 0, 1), {1, 100, 200});
  const ModuleRef childs = table.Rehome(parents, {2, 100, 200});
  EXPECT_EQ(childs->first_pid, 2u);
  EXPECT_EQ(table.Rehome(parents, {2, 100, 200}), childs);
}

TEST_F(ModuleTableTest, BeyondTheBoundThereIsNoModuleUntilOneIsFree) {
  ModuleTable table = MakeTable(3);
  std::vector<ModuleRef> modules;
  for (std::uint64_t inode = 1; inode <= 3; ++inode)
    modules.push_back(table.Intern(File("/a", inode), {1}));
  EXPECT_EQ(table.Intern(File("/a", 4), {1}), nullptr);
  EXPECT_EQ(table.refused(), 1u);
  EXPECT_EQ(table.Intern(File("/a", 2), {1}), modules[1]);
  modules.erase(modules.begin());
  EXPECT_NE(table.Intern(File("/a", 4), {1}), nullptr);
  EXPECT_EQ(table.refused(), 1u);
}

TEST_F(ModuleTableTest, UnusedModulesGoByThemselves) {
  ModuleTable table = MakeTable(1'000'000);
  for (std::uint64_t inode = 1; inode <= 100'000; ++inode)
    EXPECT_NE(table.Intern(File("/a", inode), {1}), nullptr);
  EXPECT_LE(table.size(), 2'048u);
}

}  // namespace
}  // namespace profd::process
