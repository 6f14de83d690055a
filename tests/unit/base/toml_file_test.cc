#include "daemon/base/toml/toml_file.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace profd {
namespace {

constexpr TomlKind kKind{.hint = "see the page", .question = "is it that file?"};

TEST(TomlFile, AFileThatIsTooLongIsNoSuchFile) {
  const test::TempFolder folder;
  EXPECT_EQ(*ReadTomlText(folder.Write("most", std::string(1 << 20, '#')), kKind),
            std::string(1 << 20, '#'));
  const auto path = folder.Write("more", std::string((1 << 20) + 1, '#'));
  const auto text = ReadTomlText(path, kKind);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message, path + " is longer than 1 MiB");
  EXPECT_EQ(text.error().hint, "is it that file?");
  EXPECT_EQ(ReadTomlText(folder.Path("missing"), kKind).error().code, ErrorCode::kNotFound);
}

TEST(TomlFile, TextThatIsNoTomlHasItsLine) {
  EXPECT_TRUE(ParseToml("a = 1", "x.toml", kKind));
  const auto table = ParseToml("a = 1\n[b\n", "x.toml", kKind);
  ASSERT_FALSE(table);
  EXPECT_TRUE(table.error().message.starts_with("x.toml:2: ")) << table.error().message;
  EXPECT_EQ(table.error().hint, "see the page");
}

TEST(TomlFile, ProblemsAreInTheOrderOfLines) {
  const auto table = ParseToml("b = 1\na = 2\n", "x.toml", kKind);
  ASSERT_TRUE(table);
  TomlProblems problems("x.toml");
  EXPECT_TRUE(problems.empty());
  for (const auto& [name, node] : *table) problems.Add(node, std::string(name.str()) + " is wrong");
  EXPECT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems.PlaceOf(*table->get("a")), "x.toml:2");
  EXPECT_EQ(problems.ToError(kKind).message, "x.toml:1: b is wrong\nx.toml:2: a is wrong");
  EXPECT_EQ(problems.ToError(kKind).hint, "see the page");
}

}  // namespace
}  // namespace profd
