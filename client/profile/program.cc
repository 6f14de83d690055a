#include "client/profile/program.h"

#include <sstream>

namespace profd::client {

std::string WithoutNumbers(std::string_view name) {
  std::string stem;
  for (const char c : name) {
    if (c < '0' || c > '9')
      stem.push_back(c);
    else if (stem.empty() || stem.back() != '*')
      stem.push_back('*');
  }
  return stem;
}

std::string ProgramOf(const v1::Process& process) {
  constexpr int kWords = 3;
  std::istringstream words(process.command_line());
  std::string program = process.comm();
  std::string word;
  for (int i = 0; i < kWords && words >> word; ++i) program += ' ' + WithoutNumbers(word);
  return program;
}

}  // namespace profd::client
