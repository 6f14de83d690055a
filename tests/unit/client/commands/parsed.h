// Parsed: the options of a verb, from a command line.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/command_line.h"

namespace profd::client {

// A command line that was parsed, with what it points into.
struct ParsedLine {
  std::unique_ptr<Verbs> verbs = std::make_unique<Verbs>();
  CommandLine line;
  // The command that runs; "" with a help text.
  [[nodiscard]] std::string name() const {
    return line.verb == nullptr ? "" : line.verb->command().name;
  }
};

inline ParsedLine Parsed(std::vector<std::string> arguments) {
  ParsedLine parsed;
  auto line = ParseCommandLine(*parsed.verbs, std::move(arguments));
  EXPECT_TRUE(line) << (line ? "" : line.error().message);
  if (line) parsed.line = *std::move(line);
  return parsed;
}

// The options of the verb that the line names; a failed expectation when it names another one.
template <typename AVerb>
auto OptionsOf(std::vector<std::string> arguments) {
  const ParsedLine parsed = Parsed(std::move(arguments));
  const auto* verb = dynamic_cast<const AVerb*>(parsed.line.verb);
  EXPECT_NE(verb, nullptr) << parsed.name();
  return verb == nullptr ? AVerb().options() : verb->options();
}

// The error of a line that is refused.
inline Error Refused(std::vector<std::string> arguments) {
  const Verbs verbs;
  const auto line = ParseCommandLine(verbs, std::move(arguments));
  EXPECT_FALSE(line);
  if (line) return Error{};
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  return line.error();
}

}  // namespace profd::client
