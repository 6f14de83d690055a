// Tables that Python itself made, with the lines that it gave for every instruction.
#include "daemon/python/code/line_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include "tests/support/paths.h"

namespace profd::python {
namespace {

using nlohmann::json;

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

json Vectors() {
  std::ifstream file(test::TestData() + "/python/line_tables.json");
  return json::parse(file);
}

TEST(LineTable, GivesPythonsOwnAnswers) {
  std::size_t versions = 0;
  for (const json& version : Vectors()) {
    ++versions;
    const auto number = version["version"].get<std::uint32_t>();
    for (const json& code : version["codes"]) {
      const std::string table = FromHex(code["table"]);
      const auto& lines = code["lines"];
      for (std::uint32_t i = 0; i < lines.size(); ++i)
        EXPECT_EQ(LineOf(number, code["first"], table, number >> 16 == 0x030a ? i : 2 * i),
                  lines[i].get<std::uint32_t>())
            << code["name"] << " of " << std::hex << number << " at unit " << i;
    }
  }
  EXPECT_EQ(versions, 7u);
}

TEST(LineTable, BeforeTheFirstInstructionItIsTheFirstLine) {
  for (const std::uint32_t version : {0x030800f0u, 0x030a00f0u, 0x030b00f0u, 0x030d00f0u})
    for (const std::int32_t before : {-1, -2})
      EXPECT_EQ(LineOf(version, 7, "", static_cast<std::uint32_t>(before)), 7u);
}

TEST(LineTable, DamagedTablesEnd) {
  std::minstd_rand engine(1);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 2'000; ++round) {
    std::string table(random() % 64, '\0');
    for (char& byte : table) byte = static_cast<char>(random() >> 8);
    for (std::uint32_t minor = 0x0307; minor <= 0x030f; ++minor)
      EXPECT_LE(LineOf(minor << 16, 10, table, random() % 1000), 0x7fffffffu);
  }
  EXPECT_EQ(LineOf(0x030b00f0, 10, "", 4), 0u);
  EXPECT_EQ(LineOf(0x030a00f0, 10, "", 4), 0u);
}

}  // namespace
}  // namespace profd::python
