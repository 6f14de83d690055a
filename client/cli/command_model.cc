#include "client/cli/command_model.h"

#include <algorithm>

namespace profd::client {

std::vector<std::string> NamesOf(const Option& option) {
  std::vector<std::string> names;
  if (option.IsArgument()) return names;
  for (std::size_t begin = 0; begin < option.names.size();) {
    const std::size_t end = std::min(option.names.find(',', begin), option.names.size());
    names.push_back(option.names.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string ValueText(const Option& option) {
  if (!option.implied.empty()) return "[=" + option.value + "]";
  return option.value.empty() ? "" : " " + option.value;
}

std::string OneOf(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace profd::client
