// HelpFormatter: help texts that fit 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace profd::client {

inline constexpr std::size_t kHelpWidth = 80;

// An app's description is paragraphs divided by empty lines: usage lines, one line for the list of
// commands, then text that is broken into lines. The footer is printed as it stands.
class HelpFormatter : public CLI::FormatterBase {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override;
};

// "-p, --pid PID[,PID]"
[[nodiscard]] std::string OptionTitle(const CLI::Option& option);

}  // namespace profd::client
