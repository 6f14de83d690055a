// Command, Option: what profctl's command line looks like. The parser, --help, the shell
// completions and the manual page are all made from it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace profd::client {

// Headings in --help and in the manual page.
inline constexpr std::string_view kTargetGroup = "Target (exactly one)";
inline constexpr std::string_view kWhatGroup = "What is collected";
inline constexpr std::string_view kWhenGroup = "When";
inline constexpr std::string_view kWhoGroup =
    "Who (all of these must fit; each may be given again for others)";
inline constexpr std::string_view kReportGroup = "What is shown";
inline constexpr std::string_view kOutputGroup = "Output";
inline constexpr std::string_view kOtherGroup = "Other";

// What a shell offers as the value of an option.
enum class Offer { kNothing, kFiles, kFolders, kPids, kPrograms };

// Where the parser writes what it reads: nothing asks for help, a bool is a flag (a null one is
// accepted and ignored), a string has one value, and a vector takes one each time it is given.
using OptionVariable = std::variant<std::monostate, bool*, std::string*, std::vector<std::string>*>;

struct Option {
  std::string_view group = {};
  std::string names = {};    // "-p,--pid"; without a dash: an argument, which help leaves out
  OptionVariable into = {};  // must outlive the parser
  std::string value = {};    // what its value is called: "PID[,PID]..."; empty: a flag
  std::string implied = {};  // of a string: a flag that means this, or has `value` behind a "="
  // Of `implied`: an argument behind it that contains this is its value, too.
  std::string joined = {};
  std::string help = {};                // one line, lower case, no final stop
  std::string more = {};                // sentences that only the manual page has
  std::vector<std::string> words = {};  // all values there are; empty: others
  Offer offer = Offer::kNothing;        // without `words`

  [[nodiscard]] bool IsArgument() const { return !names.starts_with('-'); }
  // Whether the argument behind it is its value.
  [[nodiscard]] bool TakesValue() const { return !value.empty() && implied.empty(); }
  [[nodiscard]] bool IsRepeated() const {
    return std::holds_alternative<std::vector<std::string>*>(into);
  }
};

struct Command {
  std::string name = {};     // empty: profctl itself
  std::string alias = {};    // another name; empty: none
  std::string usage = {};    // lines, as --help shows them behind "Usage: "
  std::string summary = {};  // one line, lower case, no final stop
  std::string about = {};    // sentences for --help; the manual page says more
  std::string footer = {};   // examples, as they stand
  std::vector<Option> options = {};
  std::vector<std::string>* behind = nullptr;  // where all behind "--" goes; null: refused

  void Add(Option option) { options.push_back(std::move(option)); }
};

// "[=stacks]" of a flag that may have a value, " PID" of an option with one; empty: neither.
[[nodiscard]] std::string ValueText(const Option& option);
// "-p", "--pid". Empty: an argument.
[[nodiscard]] std::vector<std::string> NamesOf(const Option& option);
// "a, b or c".
[[nodiscard]] std::string OneOf(const std::vector<std::string>& words);

}  // namespace profd::client
