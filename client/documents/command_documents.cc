// command_documents: writes the files for users that list commands, options or formats. It is a
// build tool, not part of profctl: the build runs it, installs what it writes, and so these files
// always match the commands.
//
//   command_documents bash|fish|zsh|man TEMPLATE    prints TEMPLATE with its @NAMES@ filled in
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "client/commands/command_line.h"
#include "client/documents/completions.h"
#include "client/documents/manual_page.h"
#include "client/documents/template_text.h"

namespace profd::client {
namespace {

int Main(const std::string& kind, const std::string& path) {
  const Verbs verbs;
  std::map<std::string, std::string> parts;
  if (kind == "bash") parts = BashParts(verbs.root(), verbs.commands());
  if (kind == "fish") parts = FishParts(verbs.root(), verbs.commands());
  if (kind == "zsh") parts = ZshParts(verbs.root(), verbs.commands());
  if (kind == "man") parts = ManualParts(verbs.root(), verbs.commands());
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (parts.empty() || !file) {
    std::cerr << "usage: command_documents bash|fish|zsh|man TEMPLATE\n";
    return 2;
  }
  const Result<std::string> filled = FillTemplate(text.str(), parts);
  if (!filled) {
    std::cerr << path << ": " << filled.error().message << "\n";
    return 2;
  }
  std::cout << *filled;
  return std::cout.flush() ? 0 : 1;
}

}  // namespace
}  // namespace profd::client

int main(int argc, char** argv) {
  return profd::client::Main(argc == 3 ? argv[1] : "", argc == 3 ? argv[2] : "");
}
