// TomlFile: files in TOML that users write, and what is wrong with them, by line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace profd {

// Any thread. What messages say of one kind of file.
struct TomlKind {
  const char* hint;      // of a wrong line: "see profd.toml(5)"
  const char* question;  // of a file of more than 1 MiB: "is it profd's configuration?"
};

// kNotFound, kIo: the file cannot be read; kInvalidArgument: it is longer than 1 MiB.
[[nodiscard]] Result<std::string> ReadTomlText(const std::string& path, const TomlKind& kind);

// kInvalidArgument: "path:line: what".
[[nodiscard]] Result<toml::table> ParseToml(std::string_view text, const std::string& path,
                                            const TomlKind& kind);

// Job: collects what is wrong with the values of one file, a message for each line.
class TomlProblems {
 public:
  explicit TomlProblems(std::string path) : path_(std::move(path)) {}

  void Add(const toml::node& node, std::string problem) {
    problems_.emplace(node.source().begin.line, std::move(problem));
  }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  // "profd.toml:12"
  [[nodiscard]] std::string PlaceOf(const toml::node& node) const;
  // kInvalidArgument: "path:line: what", in the order of lines. There is at least one.
  [[nodiscard]] Error ToError(const TomlKind& kind) const;

 private:
  [[nodiscard]] std::string Place(toml::source_index line) const;

  const std::string path_;
  std::multimap<toml::source_index, std::string> problems_;  // by line: the tree is sorted by name
};

}  // namespace profd
